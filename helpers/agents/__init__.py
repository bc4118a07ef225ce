"""The roles of a dialogue: user, judge, director, policy; offline and LLM-backed."""
