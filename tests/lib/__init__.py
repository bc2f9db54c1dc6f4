# SPDX-License-Identifier: Apache-2.0
"""What the black-box suites share: cases, the driver of the program, views of the host, attack helpers."""
