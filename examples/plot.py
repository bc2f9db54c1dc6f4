# SPDX-License-Identifier: Apache-2.0
"""Draws a damped wave into wave.png. Run it with --output-dir to keep the picture."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

t = np.linspace(0, 10, 1000)
figure, axes = plt.subplots(figsize=(6, 3))
axes.plot(t, np.exp(-t / 4) * np.cos(2 * np.pi * t), label="damped")
axes.plot(t, np.exp(-t / 4), "--", label="envelope")
axes.set_xlabel("time / s")
axes.legend()
figure.tight_layout()
figure.savefig("wave.png")
print("wrote wave.png")
