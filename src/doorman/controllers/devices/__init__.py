"""Claims made for pods and freed again, and pods that must leave tainted devices."""
