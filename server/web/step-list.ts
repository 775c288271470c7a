import { Html, html } from './html.ts'

/** Step of a task that takes several visits. */
export interface Step {
  readonly title: string
  readonly isDone: boolean
  /** Shown while it is the next step. */
  readonly body: Html
}

/** Numbered steps with the body of the next one; undefined once all are done. */
export function stepList(heading: string, steps: readonly Step[]): Html | undefined {
  const next = steps.findIndex(({ isDone }) => !isDone)
  if (next === -1) return undefined
  const done = steps.filter(({ isDone }) => isDone).length
  return html`<section class="box"><h2>${heading}</h2>
<p class="muted">${done} of ${steps.length} steps done.</p><ol class="checklist">${steps.map(
    ({ title, isDone, body }, i) =>
      html`<li${isDone ? DONE : i === next && NEXT}><strong>${title}</strong>${
        isDone && html` <span class="badge good">done</span>`
      }${i === next && body}</li>`,
  )}</ol></section>`
}

const DONE = new Html(' class="done"')
const NEXT = new Html(' aria-current="step"')
