import type { World } from './dom.ts'

/** How a page is just now. */
export interface Survey {
  readonly state: 'loading' | 'interactive' | 'complete'
  /** Milliseconds since its tree or its height changed. */
  readonly quietMs: number
  /** In CSS pixels. */
  readonly height: number
  /** Whether what was to be waited for is there. */
  readonly found: boolean
}

/** What a page is waited for. */
export interface Patience {
  /** A page that did not change for so long is quiet. */
  readonly quietMs: number
  /** What never becomes quiet is told of as it is by then. */
  readonly mostMs: number
}

/** Looks whether the page still changes, from the first time on that it is asked. */
export function look(selector: string | null): Survey {
  const world = globalThis as unknown as World
  const page = world.document
  const now = performance.now()
  const height = page.scrollingElement?.scrollHeight ?? 0
  if (!world.hubChange) {
    const change = { at: now, height }
    world.hubChange = change
    new world.MutationObserver(() => {
      change.at = performance.now()
    }).observe(page, { childList: true, characterData: true, subtree: true })
  }
  const change = world.hubChange
  if (change.height !== height) Object.assign(change, { at: now, height })
  return {
    state: page.readyState,
    quietMs: now - change.at,
    height,
    found: selector === null || page.querySelector(selector) !== null,
  }
}

/** Waits until the page is there, quiet, and has what was to be waited for. */
export async function survey(
  selector: string | null,
  { quietMs, mostMs }: Patience,
): Promise<Survey> {
  const end = performance.now() + mostMs
  for (;;) {
    const seen = look(selector)
    const left = end - performance.now()
    const isThere = seen.state === 'complete' && seen.found
    if (left <= 0 || (isThere && seen.quietMs >= quietMs)) return seen
    const pauseMs = isThere ? quietMs - seen.quietMs : 100
    await new Promise((resolve) => {
      setTimeout(resolve, Math.min(pauseMs, left))
    })
  }
}

/** Passes by everything, a screen at a time, so that what waits to be seen is loaded. */
export async function scrollDown(screens: number): Promise<void> {
  const world = globalThis as unknown as World
  const page = world.document
  const frame = (): Promise<void> =>
    new Promise((resolve) => {
      world.requestAnimationFrame(resolve)
      setTimeout(resolve, 100)
    })
  for (let screen = 0; screen < screens; screen++) {
    const before = page.scrollingElement?.scrollTop ?? 0
    world.scrollTo({ top: before + world.innerHeight, behavior: 'instant' })
    await frame()
    if ((page.scrollingElement?.scrollTop ?? 0) === before) return
  }
  world.scrollTo({ top: page.scrollingElement?.scrollHeight ?? 0, behavior: 'instant' })
  await frame()
}
