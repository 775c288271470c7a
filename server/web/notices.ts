import { FAULTS, type Fault } from '../../core/errors.ts'
import { type Html, html, type Part } from './html.ts'
import type { PageText } from './layout.ts'
import type { Sent } from './page.ts'

/**
 * What became of a form. The page that comes after it is shown from there, whatever part of the
 * page before was linked to (`SAID` of form.ts): the keyboard is there, and it is read out first.
 */
export const outcome = (kind: 'good' | 'bad', text: Html): Html =>
  html`<div class="box ${kind}" role="${kind === 'good' ? 'status' : 'alert'}" id="said"
tabindex="-1" autofocus>${text}</div>`

/** Says that something was done. */
export const notice = (text: Part): Html => outcome('good', html`<p>${text}</p>`)

/** What there is to say where a list is empty, and what to do about it. */
export const empty = (text: Part, more?: Html): Html =>
  html`<div class="empty"><p>${text}</p>${more}</div>`

/** A secret that is shown this once, with a button that copies it where there are scripts. */
export const secretBox = (secret: string): Html =>
  html`<div class="box fair" role="status"><p><strong>Copy this secret now.</strong> It is shown
this once; the hub keeps only a fingerprint of it.</p>
<p class="secret"><code id="secret">${secret}</code>
<button type="button" class="plain" data-copy="${secret}" hidden>Copy</button></p></div>`

/**
 * Says why a form did not pass. What is wrong with a field stands at the field.
 * @param page as it is shown again: what is wrong may be in none of its fields
 */
export function refusal(fault: Fault, { act, errors }: Sent, page: Html): Html {
  const wrong = Object.keys(errors).find((name) => page.text.includes(`id="${act}-${name}"`))
  if (wrong !== undefined) {
    return outcome(
      'bad',
      html`<p><strong>Nothing was changed.</strong> See
<a href="#${act}-${wrong}">what is marked below</a>.</p>`,
    )
  }
  const advice = fault.message === FAULTS[fault.code][2] ? '' : ` ${adviceOf(fault)}`
  return outcome(
    'bad',
    html`<p><strong>${FAULTS[fault.code][1]}.</strong> ${fault.message}${advice}</p>
<p class="small muted">Code ${codeLink(fault)}</p>`,
  )
}

/** Where it is told what the code means, and what to do. */
const codeLink = ({ code }: Fault): Html =>
  html`<a href="/docs/problems/${code}"><code>${code}</code></a>`

/** What the table says to programs alone is where the answer has more: people see that. */
const adviceOf = ({ code }: Fault): string =>
  FAULTS[code][2].startsWith('See ') ? '' : FAULTS[code][2]

const TITLES: Readonly<Record<number, string>> = {
  404: 'There is nothing here',
  429: 'Too many requests',
  500: 'Something broke on our side',
  503: 'Not available right now',
}

/** A failure as a page. */
export function faultPage(fault: Fault, requestId: string): PageText {
  const title = TITLES[fault.status] ?? FAULTS[fault.code][1]
  const needsRole = fault.code === 'finance_only' || fault.code === 'admin_only'
  return {
    status: fault.status,
    title,
    main: html`<h1>${title}</h1><p class="lead">${
      fault.status >= 500
        ? 'It is our fault, and it is noted. Try again in a moment.'
        : needsRole
          ? 'Your account does not have this role: an administrator gives it.'
          : fault.message
    }</p>
<p>Nothing was charged. The code of this problem is ${codeLink(fault)}${
      fault.status >= 500 && html`, and that of the request <code>${requestId}</code>`
    }.</p><p>${
      fault.code.startsWith('link_') || fault.code === 'session_required'
        ? html`<a class="button" href="/sign-in">Ask for a new mail</a>`
        : fault.status >= 500
          ? html`<a class="button" href="">Try again</a>`
          : needsRole
            ? html`<a class="button" href="/account">Your account</a>`
            : html`<a class="button" href="/search">Search for an API</a>`
    }</p>`,
  }
}
