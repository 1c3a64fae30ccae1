"""What the components and the simulated pods have to say in numbers."""
