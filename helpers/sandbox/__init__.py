"""The sandbox: one dialogue, many dialogues, and the record that they leave."""
