"""Training by dialogue: policies, rollouts, advantages, the trainer and its runs."""
