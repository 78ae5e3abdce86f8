"""What a judge must show before it may reward: attacks, bars, canaries, drift."""
