import { FAULTS, type Fault } from '../../core/errors.ts'
import { guidanceFor } from '../../core/guidance.ts'
import { type Html, type HtmlPart, html } from './html.ts'
import type { PageContent } from './layout.ts'
import type { Submission } from './page.ts'

/** Message about a submitted form. It takes the focus, so that screen readers announce it. */
export const flashMessage = (kind: 'good' | 'bad', text: Html): Html =>
  html`<div class="box ${kind}" role="${kind === 'good' ? 'status' : 'alert'}" id="flash"
tabindex="-1" autofocus>${text}</div>`

export const successMessage = (text: HtmlPart): Html => flashMessage('good', html`<p>${text}</p>`)

/** Placeholder of an empty list, optionally with a next step. */
export const emptyState = (text: HtmlPart, nextStep?: Html): Html =>
  html`<div class="empty"><p>${text}</p>${nextStep}</div>`

/** Shows a one-time secret. The button that copies it appears if scripts run. */
export const secretBox = (secret: string): Html =>
  html`<div class="box fair" role="status"><p><strong>Copy this secret now.</strong> You cannot see
it again; the hub stores only a hash of it.</p>
<p class="secret"><code id="secret">${secret}</code>
<button type="button" class="plain" data-copy="${secret}" hidden>Copy</button></p></div>`

/** Links to the first invalid field, or shows the error itself. @param page as rendered again */
export function formError(fault: Fault, { act, errors }: Submission, page: Html): Html {
  const field = Object.keys(errors).find((name) => page.text.includes(`id="${act}-${name}"`))
  if (field !== undefined) {
    return flashMessage(
      'bad',
      html`<p><strong>Not saved.</strong> Please fix the
<a href="#${act}-${field}">highlighted fields</a>.</p>`,
    )
  }
  const advice = fault.message === FAULTS[fault.code][2] ? '' : ` ${adviceFor(fault)}`
  return flashMessage(
    'bad',
    html`<p><strong>${FAULTS[fault.code][1]}.</strong> ${fault.message}${advice}</p>
<p class="small muted">Code ${errorCodeLink(fault)}</p>`,
  )
}

const errorCodeLink = ({ code }: Fault): Html =>
  html`<a href="/docs/problems/${code}"><code>${code}</code></a>`

/** Advice of the error code; none if it only points at fields of the JSON response. */
const adviceFor = ({ code }: Fault): string =>
  FAULTS[code][2].startsWith('See ') ? '' : FAULTS[code][2]

const nextStep = ({ code, money }: Fault): string =>
  money === 'unconfirmed' ? guidanceFor(code, money).advice : 'Try again in a moment.'

const TITLES_BY_STATUS: Readonly<Record<number, string>> = {
  404: 'Page not found',
  429: 'Too many requests',
  500: 'Something went wrong',
  503: 'Temporarily unavailable',
}

/** Error page with the error code and a next step. */
export function errorPage(fault: Fault, requestId: string): PageContent {
  const needsRole = fault.code === 'finance_only' || fault.code === 'admin_only'
  const title = needsRole
    ? 'Staff role required'
    : (TITLES_BY_STATUS[fault.status] ?? FAULTS[fault.code][1])
  return {
    status: fault.status,
    title,
    main: html`<h1>${title}</h1><p class="lead">${
      fault.status >= 500
        ? `The error is on our side and has been logged. ${nextStep(fault)}`
        : fault.message
    }</p>
<p>You were not charged. Error code: ${errorCodeLink(fault)}${
      fault.status >= 500 && html`, request id: <code>${requestId}</code>`
    }.</p><p>${
      fault.code.startsWith('link_') || fault.code === 'session_required'
        ? html`<a class="button" href="/sign-in">Request a new link</a>`
        : fault.status >= 500
          ? html`<a class="button" href="">Try again</a>`
          : needsRole
            ? html`<a class="button" href="/account">Go to your account</a>`
            : html`<a class="button" href="/services">Search for an API</a>`
    }</p>`,
  }
}
