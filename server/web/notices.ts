import { FAULTS, type Fault } from '../../core/errors.ts'
import { type Html, html, type Part } from './html.ts'
import type { PageText } from './layout.ts'
import type { Sent } from './page.ts'

/** Says that something was done. */
export const notice = (text: Part): Html =>
  html`<div class="box good" role="status"><p>${text}</p></div>`

/** What there is to say where a list is empty, and what to do about it. */
export const empty = (text: Part, more?: Html): Html =>
  html`<div class="empty"><p>${text}</p>${more}</div>`

/** A secret that is shown this once, with a button that copies it where there are scripts. */
export const secretBox = (secret: string): Html =>
  html`<div class="box fair" role="status"><p><strong>Copy this secret now.</strong> It is shown
this once; the hub keeps only a fingerprint of it.</p>
<p class="secret"><code id="secret">${secret}</code>
<button type="button" class="plain" data-copy="${secret}" hidden>Copy</button></p></div>`

/** Says why a form did not pass. What is wrong with a field stands at the field. */
export function refusal(fault: Fault, { errors, values }: Sent): Html {
  const wrong = Object.keys(errors).filter((name) => Object.hasOwn(values, name))
  const text =
    wrong.length > 0
      ? 'Nothing was changed: see what is marked below.'
      : `${fault.message}${fault.message === FAULTS[fault.code][2] ? '' : ` ${adviceOf(fault)}`}`
  return html`<div class="box bad" role="alert" id="refused"><p><strong>${
    FAULTS[fault.code][1]
  }.</strong> ${text}</p></div>`
}

/** The table speaks to programs; of fields the forms speak themselves. */
const adviceOf = ({ code }: Fault): string => (code === 'validation_failed' ? '' : FAULTS[code][2])

const TITLES: Readonly<Record<number, string>> = {
  404: 'There is nothing here',
  429: 'Too many requests',
  500: 'Something broke on our side',
  503: 'Not available right now',
}

/** A failure as a page. */
export function faultPage(fault: Fault, requestId: string): PageText {
  const title = TITLES[fault.status] ?? 'This did not work'
  return {
    status: fault.status,
    title,
    main: html`<h1>${title}</h1><p class="lead">${
      fault.status >= 500
        ? 'It is our fault, and it is noted. Try again in a moment.'
        : fault.message
    }</p>
<p>Nothing was charged. The code of this problem is
<a href="/docs/problems/${fault.code}"><code>${fault.code}</code></a>${
      fault.status >= 500 && html`, and that of the request <code>${requestId}</code>`
    }.</p><p>${
      fault.code.startsWith('link_') || fault.code === 'session_required'
        ? html`<a class="button" href="/sign-in">Ask for a new mail</a>`
        : html`<a class="button" href="/search">Search for an API</a>`
    }</p>`,
  }
}
