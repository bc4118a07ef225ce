"""Helpers of the Empathy Dialogue Kit; the notebooks tell the story."""
