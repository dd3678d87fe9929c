"""What a user can set: types, ranges, rules, and the door where Hydra's config becomes a typed one."""
