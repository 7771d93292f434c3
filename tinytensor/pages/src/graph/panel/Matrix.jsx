// Numbers as a table that can be pointed at, walked through with arrow keys, and changed.

import { useRef, useState } from "preact/hooks";
import { clean, number, position, rows } from "../model/numbers.js";
import { NumberInput } from "./NumberInput.jsx";

// what they add up to; of gradients that says something: those of softmax add up to nothing
function total(numbers) {
  const sum = numbers.reduce((all, x) => all + x, 0), size = numbers.reduce((all, x) => all + Math.abs(x), 0);
  return Math.abs(sum) <= 1e-6 * size ? "\u03a3 \u2248 0" : `\u03a3 = ${number(sum)}`;
}

const MOST = 1024;  // elements of one table

// at: {value, of, step?, operand?}, to which the index is added for `point` and `marks`
export function Matrix({ caption, numbers, shape, dtype, at, words, act, marks, kind = "", name = "", edit, missing }) {
  const { say } = words, table = useRef();
  const [stop, setStop] = useState(0), [editing, setEditing] = useState(null);
  if (!numbers) return <figure class={`numbers ${kind}`}><figcaption>{caption}</figcaption><p class="soft">{missing || say("not known")}</p></figure>;
  const kept = Math.min(numbers.length, MOST), lines = rows(shape, kept, 64);
  const columns = lines[0]?.length || 1;
  const slices = shape.length > 2 ? shape.at(-1) * shape.at(-2) : Infinity;
  const where = index => position(shape, index);

  function key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? kept - 1 : step && stop + step;
    if (to !== undefined && to >= 0 && to < kept) {
      setStop(to);
      table.current.querySelector(`[data-i="${to}"]`).focus();
    } else if (event.key === "Enter" && edit) setEditing(stop);
    else if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
  }

  return (
    <figure class={`numbers ${kind}`}>
      <figcaption>{caption}{kind.includes("grad") && numbers.length > 1 && <> <span class="total">{total(numbers)}</span></>}</figcaption>
      <div class="scroll">
        <table role="grid" ref={table} aria-label={clean(typeof caption === "string" ? caption : name)} onKeyDown={key}>
          <tbody>
            {lines.map((line, r) => [
              line[0] % slices === 0 && lines.length > 1 && slices < Infinity && (
                <tr key={`slice${r}`}><th colSpan={columns} scope="rowgroup">
                  {say("slice", { at: where(line[0]).replace(/, 0, 0\]/, "]") })}</th></tr>
              ),
              <tr key={r}>
                {line.map(i => (
                  <td key={i} data-i={i} role="gridcell" tabIndex={i === Math.min(stop, kept - 1) ? 0 : -1}
                    class={`${edit ? "editable" : ""} ${marks({ ...at, index: i })}`}
                    title={String(numbers[i])}
                    aria-label={edit ? say("edit", { name, at: where(i), number: number(numbers[i], 4, dtype) })
                      : `${where(i)} ${number(numbers[i], 4, dtype)}`}
                    onPointerMove={() => act.point({ ...at, index: i })} onPointerLeave={event => event.pointerType !== "touch" && act.point(null)}
                    onFocus={() => { setStop(i); act.point({ ...at, index: i }); }} onBlur={() => act.point(null)}
                    onClick={() => edit ? setEditing(i) : act.point({ ...at, index: i })}>
                    {editing === i ? (
                      <NumberInput value={numbers[i]} words={words} label={say("new number", { name, at: where(i) })}
                        done={next => {
                          setEditing(null);
                          if (next !== null) edit(i, next);
                          table.current.querySelector(`[data-i="${i}"]`).focus();
                        }} />
                    ) : number(numbers[i], 4, dtype)}
                  </td>
                ))}
              </tr>,
            ])}
          </tbody>
        </table>
      </div>
      {kept < numbers.length && <p class="soft">{say("more rows", { count: numbers.length - kept })}</p>}
    </figure>
  );
}
