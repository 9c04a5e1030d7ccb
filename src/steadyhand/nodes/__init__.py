"""Processes: what runs at the robot, at the operator's end and, in the place of a robot, the controller."""
