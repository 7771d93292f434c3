// What may be wider than the panel; it can be reached by Tab where it is.

import { useEffect, useRef, useState } from "preact/hooks";

export function Scroller({ as: Tag = "div", label, children, ...more }) {
  const element = useRef(), [wide, setWide] = useState(false);
  useEffect(() => {
    const own = element.current;
    if (!own) return undefined;  // gone before it was seen
    const measure = () => setWide(own.scrollWidth > own.clientWidth + 1 || own.scrollHeight > own.clientHeight + 1);
    const watch = new ResizeObserver(measure);
    watch.observe(own);
    measure();
    return () => watch.disconnect();
  }, [children]);
  const reached = wide ? { tabIndex: 0, role: "group", "aria-label": label } : {};
  return <Tag ref={element} {...more} {...reached}>{children}</Tag>;
}
