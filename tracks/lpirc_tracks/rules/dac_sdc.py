"""DAC-SDC, the System Design Contest of the Design Automation Conference, in the form of 2018 and 2019.

Images have one object each; R_IoU is the mean overlap over all K images. With E_i the energy of entry i and E the mean
energy of all entries: ES_i = max(0, 1 + 0.2 log_x(E / E_i)), total score TS_i = R_IoU_i (1 + ES_i). x is 2 in the FPGA
track and 10 in the GPU track. If an entry is below the required frames per second, its R_IoU is multiplied by min(FPS,
required) / required. The required values here, 5 for an FPGA and 20 for a GPU, are not confirmed by any rules
available. From 2022 on the contest has other formulas, in which other entries do not matter: the rule
`floors-then-energy` of contests is that of 2022.

The settings are those of the FPGA track. The contest timed the whole run including its input; here the frames per
second cover only the inferences.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lpirc_tracks.measured import Measured
from lpirc_tracks.track import Entry, Place, Track, Verdict


@dataclass(frozen=True, kw_only=True)
class EnergyFieldTrack(Track):
    """The rule: x is `base`, 0.2 is `weight`, and `needed_fps` is in images per second."""

    base: float = 2.0
    weight: float = 0.2
    needed_fps: float = 5.0

    def measure(self, result: Measured) -> Verdict:
        """Judge a run as the only entry; with other entries its energy score changes."""
        return self._judge(result, result.energy_wh)

    def rank(self, entries: Sequence[Entry]) -> tuple[Place, ...]:
        """Rank the entries by total score; entries without an energy get no rank and are left out of the mean."""
        energies = [
            one.result.energy_wh for one in entries if one.result.energy_wh is not None
        ]
        mean_wh = math.fsum(energies) / len(energies) if energies else None
        return self._places(
            entries, [self._judge(one.result, mean_wh) for one in entries]
        )

    def energy_score(self, energy_wh: float, mean_wh: float) -> float:
        """Return ES: 1 at the mean energy of all entries, more below it, never less than 0.

        Both energies must be above 0.
        """
        ratio = math.log(mean_wh) - math.log(energy_wh)
        return max(0.0, 1 + self.weight * ratio / math.log(self.base))

    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each invalid setting."""
        found = [] if self.base > 1 else [f"base = {self.base:g} must be above 1."]
        for name, value in (("weight", self.weight), ("needed_fps", self.needed_fps)):
            if not value >= 0:
                found.append(f"{name} = {value:g} must not be below 0.")
        return tuple(found)

    def _judge(self, result: Measured, mean_wh: float | None) -> Verdict:
        if result.energy_wh is None or mean_wh is None:
            return self.refuse(
                result, "The run has no energy: measure it with a meter."
            )
        is_slow = result.frames_per_s < self.needed_fps
        kept = result.frames_per_s / self.needed_fps if is_slow else 1.0
        overlap = result.accuracy_percent / 100 * kept
        energy_score = self.energy_score(result.energy_wh, mean_wh)
        value = overlap * (1 + energy_score)
        slow = (
            f", cut to {kept:.3f} of it for {result.frames_per_s:.3f} images/s"
            if is_slow
            else ""
        )
        sentence = (
            f"IoU {result.accuracy_percent / 100:.4f}{slow}, energy score {energy_score:.4f} at "
            f"{result.energy_wh:.6g} Wh, mean {mean_wh:.6g} Wh: {value:.4f}."
        )
        figures = {
            "energy_score": energy_score,
            "counted_iou": overlap,
            "mean_energy_wh": mean_wh,
        }
        return self.verdict(result, value, sentence, **figures)


DAC_SDC = EnergyFieldTrack(
    name="dac-sdc",
    title="DAC System Design Contest",
    metric="total score, IoU x (1 + energy score)",
    task="detection",
    preprocessing="resize",
    accuracy="mean-iou",
    needs_energy=True,
)
