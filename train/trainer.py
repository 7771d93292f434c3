"""The training loop: batches, steps, validations, checkpoints, and going on where one stopped.

A run that is stopped at any step and resumed from its checkpoint is bit for bit the run that was
never stopped: the same parameters, optimiser state and losses. All that training reads is in the
checkpoint (the generators' states among it), validation draws nothing from training's generators,
and a validation that was due when the stop came is made first thing after it. The same holds where
several processes share each batch (``config.workers``), as long as their number stays.
"""

from __future__ import annotations

import math
import sys
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .. import Generator, cuda, no_grad, random
from ..models import build
from ..nn import evaluating
from .checkpoint import NAME, Checkpoint, CheckpointError, load, locate, remove_leftovers, save
from .clip import clip_grad_norm
from .config import MODEL_FIELDS, ConfigError, TrainConfig
from .data import CharTokenizer, DataError, TokenStream, default_corpus, fingerprint, load_text
from .history import History, Log
from .loggers import Logger, Logs, further
from .optim import SGD, AdamW, param_groups
from .optimizer import Optimizer
from .parallel import DataParallel, WorkerError, why_not
from .plot import plot_losses
from .progress import Report
from .sample import restore_model, sample_text
from .signals import Stop

PICTURE = "loss.png"


class TrainingError(RuntimeError):
    """Training cannot go on: the loss is no longer a number."""


class Trainer:
    """A training run.

    ::

        trainer = Trainer(TrainConfig(steps=500), text=my_text)
        trainer.run()                                # until done: True; stopped: False
        Trainer.resume("runs/gpt").run()             # goes on from the last checkpoint

    Args:
        config: all settings.
        text: what to train on; None reads ``config.data``, or takes the default corpus.
        folder: of the run: checkpoint, log and picture. None takes ``config.out``; where that is
            None too, nothing is written.
        report: what is shown meanwhile; nothing by default.

    Attributes:
        model, tokenizer, data, optimizer, schedule: what the run is made of.
        step: how many steps are done.
        history: losses so far.

    Raises:
        DataError: the text is unfit. ConfigError: a setting is.
    """

    def __init__(
        self,
        config: TrainConfig,
        text: str | None = None,
        folder: str | Path | None = None,
        report: Report | None = None,
    ):
        self._setup(config, text, folder, report, None)
        random.manual_seed(config.seed)
        try:
            self.model = build(
                config.model, vocab_size=len(self.tokenizer), **config.model_settings()
            )
        except ValueError as error:
            raise ConfigError(str(error)) from None
        self._finish()

    def _setup(
        self,
        config: TrainConfig,
        text: str | None,
        folder: str | Path | None,
        report: Report | None,
        tokenizer: CharTokenizer | None,
    ) -> None:
        """All that comes before the model. A given tokenizer must fit the text."""
        if config.device == "cuda" and cuda.why_not():
            raise ConfigError(cuda.why_not())
        if config.workers > 1 and why_not() is not None:
            raise ConfigError(f"workers: expected 1 here, got {config.workers}; {why_not()}")
        further(config.log)  # refuses what is not installed
        if text is None:
            text = load_text(config.data) if config.data else default_corpus()
        if not text:
            raise DataError("data: the text is empty")
        own = CharTokenizer.from_text(text)
        if tokenizer is not None and own != tokenizer:
            raise DataError(f"data: {vocabulary_difference(own, tokenizer)}")
        self.config = config
        self.tokenizer = own
        self.text_hash = fingerprint(text)
        self.data = TokenStream(own.encode(text), config.block_size)
        chosen = config.out if folder is None else folder
        self.folder = None if chosen is None else Path(chosen)
        self.report = Report() if report is None else report
        self.history = History()
        self.step = 0
        self._seconds: deque[float] = deque(maxlen=50)
        self.schedule = config.make_schedule()

    def _finish(self) -> None:
        """All that comes after the model."""
        config = self.config
        self.model.to(config.device)
        if "\n" in self.tokenizer:
            self.model.start_id = int(self.tokenizer.encode("\n")[0])
        groups = param_groups(self.model, config.weight_decay)
        self.optimizer: Optimizer
        if config.optimizer == "sgd":
            self.optimizer = SGD(groups, config.lr, config.beta1)
        else:
            self.optimizer = AdamW(groups, config.lr, (config.beta1, config.beta2))
        self._log: Logger | None = None
        self._parallel: DataParallel | None = None

    @classmethod
    def resume(
        cls,
        path: str | Path,
        changes: Mapping[str, Any] | None = None,
        text: str | None = None,
        report: Report | None = None,
    ) -> Trainer:
        """The trainer that saved a checkpoint, at the step where it did.

        Args:
            path: the checkpoint, or the folder of its run.
            changes: settings that differ from now on, such as ``{"steps": 5000}``. The model's
                can't change. With other ``workers`` the losses differ by rounding, and dropout
                draws other numbers.
            text, report: as in the constructor.

        Raises:
            CheckpointError: it cannot be read, or does not fit together.
            ConfigError: a change that cannot be.
            DataError: the text has another vocabulary.
        """
        file = locate(path)
        saved = load(file)
        changes = dict(changes or {})
        try:
            config = TrainConfig.from_dict(saved.meta["config"])
            step, states = saved.meta["step"], saved.meta["random"]
            if type(step) is not int or step < 0:
                raise ValueError(f"step: expected a count, got {step!r}")
            for name, state in states.items():
                random.generator(name)
                Generator(0).set_state(state)
            history = History.from_arrays(saved.history, step)
        except (ConfigError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise CheckpointError(f"checkpoint: {file} has damaged settings ({error})") from None
        for name in ("model", "optimizer", *MODEL_FIELDS):
            if name in changes and changes[name] != getattr(config, name):
                was = getattr(config, name)
                raise ConfigError(
                    f"{name}: the checkpoint has {'the default' if was is None else was}, "
                    f"a resumed run can't change it to {changes[name]}"
                )
        if changes.get("steps", step) < step:
            raise ConfigError(
                f"steps: the checkpoint has done {step}; expected at least that, got "
                f"{changes['steps']}"
            )
        model, tokenizer = restore_model(saved, file)
        trainer = cls.__new__(cls)
        folder = file.parent
        trainer._setup(config.merged(changes), text, folder, report, tokenizer)
        trainer.model = model
        trainer._finish()
        settings = [dict(group) for group in trainer.optimizer.param_groups]
        try:
            trainer.optimizer.load_state_dict(saved.optimizer)
        except ValueError as error:
            raise CheckpointError(f"checkpoint: {file}: {error}") from None
        for group, own in zip(trainer.optimizer.param_groups, settings, strict=True):
            group.update(own)  # settings are the config's, which a flag may have changed
        trainer.same_text = saved.meta.get("text") == trainer.text_hash
        trainer.step, trainer.history = step, history
        random.set_state(states)
        return trainer

    #: False where a resumed run reads another text than before, with the same vocabulary
    same_text: bool = True

    # ---- the loop ------------------------------------------------------------------------------

    def run(self, stop: Stop | None = None) -> bool:
        """Train until ``config.steps``, with validations and checkpoints on the way.

        Args:
            stop: once it is true, the current step is finished, a checkpoint is saved, and this
                returns. None makes one that listens to Ctrl-C and SIGTERM.

        Returns:
            True when all steps are done, False when stopped before.

        Raises:
            TrainingError: the loss is not finite any more.
            WorkerError: one of several processes has died.
            CheckpointError: a checkpoint could not be written.
            ConfigError: the folder cannot be written to, or the processes not be started.
        """
        if stop is None:
            with Stop() as stop:
                return self.run(stop)
        config = self.config
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                first = Log(self.folder, self.step)
                self._log = Logs(first, further(config.log), self.folder, warn)
            except OSError as error:
                raise ConfigError(
                    f"out: cannot write to {self.folder}: {error.strerror or error}"
                ) from None
            remove_leftovers(self.folder)
        saved_at = None
        try:
            self._start_workers()
            self.report.start(self)
            while True:
                if self._validation_due() and not self._validate(stop):
                    break
                if self.step >= config.steps or stop:
                    break
                self.train_step()
                self.report.step(self)
                if self.step % config.checkpoint_every == 0 and self.step < config.steps:
                    self.save()
            # Once more also where the last one is of this step: a validation may have come since.
            saved_at = self.save()
        except WorkerError as error:
            raise WorkerError(f"step {self.step + 1}: {error}{self._last_checkpoint()}") from None
        finally:
            self.close()
            self.report.close()
            if self._log is not None:
                self._log.close()
                self._log = None
        if saved_at is not None:
            self.plot()
        return self.step >= config.steps and self.history.validated == self.step

    def train_step(self) -> float:
        """One step: batches, gradients, clipping, update. Returns the loss before the update.

        With several ``workers`` their processes are started if need be, and stay for the next step
        until :meth:`close`, or the end of :meth:`run`.
        """
        config = self.config
        parallel = self._start_workers()
        started = time.perf_counter()
        lr = self.schedule(self.step)
        self.optimizer.lr = lr
        self.optimizer.zero_grad()
        total = 0.0
        for _ in range(config.accumulate):
            x, y = self.data.batch(config.batch_size)
            if parallel is not None:
                total += parallel.backward(x, y, 1.0 / config.accumulate)
                continue
            loss = self.model(x, y)[1]
            total += loss.item()
            (loss if config.accumulate == 1 else loss * (1.0 / config.accumulate)).backward()
            del loss  # and with it the graph, before the next one is made
        mean = total / config.accumulate
        limit = config.clip or math.inf
        if parallel is not None:
            norm = parallel.reduce()
        else:
            norm = clip_grad_norm(self.optimizer.parameters(), limit)
        if not (math.isfinite(mean) and math.isfinite(norm)):
            raise TrainingError(
                f"step {self.step + 1}: loss {mean}, norm of the gradient {norm}; a lower lr "
                f"(now {lr:.2g}) or clip may help{self._last_checkpoint()}"
            )
        if parallel is not None:
            parallel.update(limit, norm)
        else:
            self.optimizer.step()
            self.optimizer.zero_grad()
        self.step += 1
        self.history.train.append(mean)
        seconds = time.perf_counter() - started
        self._seconds.append(seconds)
        if self._log is not None:
            self._log.write(self.step, loss=mean, lr=lr, grad_norm=norm, seconds=round(seconds, 5))
        return mean

    def _start_workers(self) -> DataParallel | None:
        """The processes that share each batch, started unless they are there; None for only one."""
        workers = self.config.workers
        if workers > 1 and (self._parallel is None or self._parallel.closed):
            try:
                self._parallel = DataParallel(self.model, self.optimizer, workers)
            except OSError as error:
                raise ConfigError(
                    f"workers: cannot start {workers} processes: {error.strerror or error}"
                ) from None
        return self._parallel

    def close(self) -> None:
        """End the processes that :meth:`train_step` has started with several ``workers``."""
        if self._parallel is not None:
            self._parallel.close()
            self._parallel = None

    def _last_checkpoint(self) -> str:
        return "" if self.folder is None else f"; the last checkpoint is in {self.folder}"

    def evaluate(self, limit: int | None = None, stop: Stop | None = None) -> float | None:
        """Mean loss over the validation split in consecutive blocks; nothing random is drawn.

        Args:
            limit: stop after this many batches; None for the whole split.
            stop: once it is true, give up and return None.
        """
        total, count = 0.0, 0
        with no_grad(), evaluating(self.model):
            for x, y in self.data.blocks("val", self.config.batch_size, limit):
                if stop:
                    return None
                total += self.model(x, y)[1].item() * y.size
                count += y.size
        return total / count

    def _validation_due(self) -> bool:
        last = self.step >= self.config.steps
        due = last or self.step > 0 and self.step % self.config.eval_every == 0
        return due and self.history.validated != self.step

    def _validate(self, stop: Stop) -> bool:
        """Make the validation that is due; False where a stop came first."""
        last = self.step >= self.config.steps
        limit = None if last else self.config.eval_batches or None
        loss = self.evaluate(limit, stop)
        if loss is None:
            return False
        self.history.val.append((self.step, loss))
        if self._log is not None:
            self._log.write(self.step, val_loss=loss)
        self.report.validated(self)
        return True

    # ---- results -------------------------------------------------------------------------------

    @property
    def recent_loss(self) -> float:
        """Mean training loss of the last 50 steps, NaN before the first."""
        recent = self.history.train[-50:]
        return sum(recent) / len(recent) if recent else math.nan

    @property
    def step_seconds(self) -> float:
        """Mean time of the last 50 steps of this process, 0 before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else 0.0

    @property
    def tokens_per_second(self) -> float:
        """Speed of training lately, 0 before the first step."""
        config = self.config
        symbols = config.batch_size * config.accumulate * config.block_size
        return symbols / self.step_seconds if self.step_seconds else 0.0

    def checkpoint(self) -> Checkpoint:
        """The state of the run: host arrays and plain values, all copies."""
        config = self.config.to_dict()
        if self.config.data is not None:
            config["data"] = str(Path(self.config.data).absolute())
        return Checkpoint(
            weights=self.model.state_dict(),
            optimizer=self.optimizer.state_dict(),
            history=self.history.arrays(),
            meta={
                "config": config,
                "model": {"name": self.config.model, "config": self.model.config.to_dict()},
                "symbols": self.tokenizer.symbols,
                "step": self.step,
                "random": random.state(),
                "text": self.text_hash,
            },
        )

    def save(self) -> Path | None:
        """Write the checkpoint into the run's folder; None where it has no folder."""
        if self.folder is None:
            return None
        return save(self.folder / NAME, self.checkpoint())

    def plot(self) -> Path | None:
        """Draw the losses into the run's folder; None where it has no folder or no loss."""
        if self.folder is None or not self.history.train:
            return None
        return plot_losses(
            self.folder / PICTURE,
            self.history.train,
            self.history.val,
            title=f"{self.config.model}, {self.model.num_parameters():,} parameters",
            baseline=math.log(len(self.tokenizer)),
        )

    def sample(self, prompt: str = "", length: int | None = None) -> str:
        """A text by the model as it is now, the same each time (its generator is seeded)."""
        length = self.config.sample_length if length is None else length
        rng = Generator(self.config.seed)
        return sample_text(self.model, self.tokenizer, prompt, length, rng=rng)


def warn(text: str) -> None:
    """Say what a run can go on without, on standard error."""
    print(f"note: {text}", file=sys.stderr, flush=True)


def vocabulary_difference(text: CharTokenizer, saved: CharTokenizer) -> str:
    """A line that says how a text's characters differ from a checkpoint's."""
    parts = []
    for what, characters in (
        ("not in the checkpoint", sorted(set(text.symbols) - set(saved.symbols))),
        ("not in the text", sorted(set(saved.symbols) - set(text.symbols))),
    ):
        if characters:
            more = f" and {len(characters) - 8} more" if len(characters) > 8 else ""
            parts.append(f"{what}: {', '.join(map(repr, characters[:8]))}{more}")
    return (
        f"the text has {len(text)} different characters, the checkpoint {len(saved)}; "
        + "; ".join(parts)
    )
