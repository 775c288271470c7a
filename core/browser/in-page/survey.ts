import type { World } from './dom.ts'

/** Current state of a page. */
export interface Survey {
  readonly state: 'loading' | 'interactive' | 'complete'
  /** Milliseconds since its tree or its height changed. */
  readonly quietMs: number
  /** In CSS pixels. */
  readonly height: number
  /** True if the awaited selector matches. */
  readonly found: boolean
}

export interface SurveyOptions {
  /** Time without changes after which a page is quiet. */
  readonly quietMs: number
  /** Maximum wait; the state at that time is returned then. */
  readonly maxMs: number
}

/** Returns the current state; the first call starts the observation of changes. */
export function inspect(selector: string | null): Survey {
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

/** Waits until the page is complete and quiet, and the selector matches. */
export async function survey(
  selector: string | null,
  { quietMs, maxMs: mostMs }: SurveyOptions,
): Promise<Survey> {
  const end = performance.now() + mostMs
  for (;;) {
    const page = inspect(selector)
    const left = end - performance.now()
    const isThere = page.state === 'complete' && page.found
    if (left <= 0 || (isThere && page.quietMs >= quietMs)) return page
    const pauseMs = isThere ? quietMs - page.quietMs : 100
    await new Promise((resolve) => {
      setTimeout(resolve, Math.min(pauseMs, left))
    })
  }
}

/**
 * Scrolls to the end, a screen at a time, so that lazy content is loaded. Counts as a change:
 * many pages wait a fraction of a second before they load what comes next.
 */
export async function scrollDown(screens: number): Promise<void> {
  const world = globalThis as unknown as World
  const page = world.document
  const frame = (): Promise<void> =>
    new Promise((resolve) => {
      world.requestAnimationFrame(resolve)
      setTimeout(resolve, 500) // if the tab draws no frames
    })
  for (let screen = 0; screen < screens; screen++) {
    const before = page.scrollingElement?.scrollTop ?? 0
    world.scrollTo({ top: before + world.innerHeight, behavior: 'instant' })
    await frame()
    if ((page.scrollingElement?.scrollTop ?? 0) === before) break
  }
  world.scrollTo({ top: page.scrollingElement?.scrollHeight ?? 0, behavior: 'instant' })
  await frame()
  if (world.hubChange) world.hubChange.at = performance.now()
}
