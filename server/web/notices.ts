import { FAULTS, type Fault } from '../../core/errors.ts'
import { type Html, html, type Part } from './html.ts'
import type { PageText } from './layout.ts'
import type { Sent } from './page.ts'

/** Where the keyboard is when the page comes after a form, and what is read out first. */
const FIRST = html` tabindex="-1" autofocus`

/** Says that something was done. */
export const notice = (text: Part): Html =>
  html`<div class="box good" role="status"${FIRST}><p>${text}</p></div>`

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
export function refusal(fault: Fault, { act, errors, values }: Sent): Html {
  const [wrong] = Object.keys(errors).filter((name) => Object.hasOwn(values, name))
  if (wrong !== undefined) {
    return refusalBox(html`<p><strong>Nothing was changed.</strong> See
<a href="#${act}-${wrong}">what is marked below</a>.</p>`)
  }
  const advice = fault.message === FAULTS[fault.code][2] ? '' : ` ${adviceOf(fault)}`
  return refusalBox(html`<p><strong>${FAULTS[fault.code][1]}.</strong> ${fault.message}${advice}</p>
<p class="small muted">Code ${codeLink(fault)}</p>`)
}

const refusalBox = (text: Html): Html =>
  html`<div class="box bad" role="alert" id="refused"${FIRST}>${text}</div>`

/** Where it is told what the code means, and what to do. */
const codeLink = ({ code }: Fault): Html =>
  html`<a href="/docs/problems/${code}"><code>${code}</code></a>`

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
  const title = TITLES[fault.status] ?? FAULTS[fault.code][1]
  return {
    status: fault.status,
    title,
    main: html`<h1>${title}</h1><p class="lead">${
      fault.status >= 500
        ? 'It is our fault, and it is noted. Try again in a moment.'
        : fault.message
    }</p>
<p>Nothing was charged. The code of this problem is ${codeLink(fault)}${
      fault.status >= 500 && html`, and that of the request <code>${requestId}</code>`
    }.</p><p>${
      fault.code.startsWith('link_') || fault.code === 'session_required'
        ? html`<a class="button" href="/sign-in">Ask for a new mail</a>`
        : fault.status >= 500
          ? html`<a class="button" href="">Try again</a>`
          : html`<a class="button" href="/search">Search for an API</a>`
    }</p>`,
  }
}
