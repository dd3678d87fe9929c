"""Documents as points of a public space, and the public centres that they are sent to."""
