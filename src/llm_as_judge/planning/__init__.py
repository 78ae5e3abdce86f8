"""How many rollouts an hour some number of GPUs gives, and for how many dollars: a simulation."""
