"""What people write, who may, and the policy that they wrote."""
