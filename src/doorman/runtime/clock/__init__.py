"""A cluster's clock that users move, while connections, deadlines and certificates stay in real time."""
