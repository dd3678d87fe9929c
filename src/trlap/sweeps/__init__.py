"""Many runs: the grid, what is launched, what is seen of it, the plan."""
