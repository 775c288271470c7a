import { FAULTS, type Fault } from '../../core/errors.ts'
import { guidanceFor } from '../../core/guidance.ts'
import type { InputError } from '../rest/input-errors.ts'
import { formatDollars } from './format.ts'
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
  return flashMessage(
    'bad',
    html`<p><strong>${FAULTS[fault.code][1]}.</strong> ${sentencesFor(fault)}</p>
<p class="small muted">Code ${errorCodeLink(fault)}</p>`,
  )
}

const errorCodeLink = ({ code }: Fault): Html =>
  html`<a href="/docs/problems/${code}"><code>${code}</code></a>`

/** Texts for programs: they name routes, headers, or members of a response. */
const FOR_PROGRAMS = /\/v1\/|\/docs\b|PAYMENT-|Content-Type|Authorization|escapes|^See /
const ADD_CREDITS = html`<a href="/topup">Add credits</a>, or choose another key.`
/** Advice for people, if that of the code is for programs. */
const ADVICE: Readonly<Record<string, HtmlPart>> = {
  payment_required: ADD_CREDITS,
  insufficient_credits: ADD_CREDITS,
}
/** Details for people where a fault has none of its own. */
const DETAILS: Readonly<Record<string, string>> = {
  not_found: 'Nothing is at this address.',
  malformed_path: 'No page has an address with these characters.',
}

/** Detail and advice of a fault in words for people. */
function sentencesFor(fault: Fault): Html {
  const text = FAULTS[fault.code][2]
  const isForPrograms = STAFF_CODES.has(fault.code) || FOR_PROGRAMS.test(text)
  const advice = ADVICE[fault.code] ?? (isForPrograms ? undefined : withSeconds(text, fault))
  const title = isForPrograms && advice === undefined ? `${FAULTS[fault.code][1]}.` : undefined
  const detail = fault.message === text ? (DETAILS[fault.code] ?? title) : detailOf(fault)
  return html`${detail} ${advice}`
}

/** Says how long to wait, instead of naming the header that says so. */
function withSeconds(advice: string, { code, headers }: Fault): string {
  const seconds = headers['Retry-After'] ?? String(guidanceFor(code, 'none').retryAfter ?? 0)
  const unit = seconds === '1' ? 'second' : 'seconds'
  return advice.replace('the seconds given in Retry-After', `${seconds} ${unit}`)
}

const nextStep = ({ code, money }: Fault): string =>
  money === 'unconfirmed' ? guidanceFor(code, money).advice : 'Try again in a moment.'

/** Input errors of a fault by the name of their field: `/rules/2/price_microdollars` → `price`. */
export function fieldErrors({ extras }: Fault): Readonly<Record<string, string>> {
  const issues = (extras['issues'] ?? []) as readonly InputError[]
  return Object.fromEntries(
    issues.map(({ path, message }) => {
      const name = path.split('/').findLast((segment) => !/^\d*$/.test(segment)) ?? ''
      return [name.replace(/_microdollars$/, ''), withoutPrefix(message, `${name}: `)]
    }),
  )
}

const withoutPrefix = (text: string, prefix: string): string =>
  text.startsWith(prefix) ? text.slice(prefix.length) : text

/** Message of a fault for people: with dollars, and names of fields instead of JSON pointers. */
function detailOf(fault: Fault): string {
  const errors = Object.entries(fieldErrors(fault))
  if (!fault.message.startsWith('/') || errors.length === 0) {
    return fault.message.replaceAll(/\b(\d+) microdollars/g, (_, n: string) => dollarsOf(n))
  }
  const sentences = errors.map(([name, message]) => `“${name.replaceAll('_', ' ')}”: ${message}.`)
  return sentences.join(' ')
}

const dollarsOf = (amount: string): string => formatDollars(BigInt(amount))

interface FailedRequest {
  readonly requestId: string
  readonly path: string
  /** True if the address has parameters, such as filters of a list. */
  readonly hasFilters: boolean
}

/** Areas with an overview of their own. */
const AREAS: readonly (readonly [path: string, name: string])[] = [
  ['/finance', 'finance'],
  ['/admin', 'administration'],
  ['/provider', 'what you sell'],
  ['/account', 'your account'],
]

/** Button below a fault of a request: the next page. */
function nextPageButton(fault: Fault, { path, hasFilters }: FailedRequest): Html {
  if (fault.code.startsWith('link_') || fault.code === 'session_required') {
    return html`<a class="button" href="/sign-in">Request a new link</a>`
  }
  if (fault.status >= 500) return html`<a class="button" href="">Try again</a>`
  if (STAFF_CODES.has(fault.code))
    return html`<a class="button" href="/account">Go to your account</a>`
  if (fault.code === 'validation_failed' && hasFilters) {
    return html`<a class="button" href="${path}">Open the page without filters</a>`
  }
  const area = AREAS.find(([prefix]) => path.startsWith(`${prefix}/`))
  return area
    ? html`<a class="button" href="${area[0]}">Go to ${area[1]}</a>`
    : html`<a class="button" href="/services">Search for an API</a>`
}

const STAFF_CODES: ReadonlySet<string> = new Set(['finance_only', 'admin_only'])

const TITLES_BY_STATUS: Readonly<Record<number, string>> = {
  404: 'Page not found',
  429: 'Too many requests',
  500: 'Something went wrong',
  503: 'Temporarily unavailable',
}

/** Error page with the error code and a next step. */
export function errorPage(fault: Fault, request: FailedRequest): PageContent {
  const isOfFilters = fault.code === 'validation_failed' && request.hasFilters
  const title = STAFF_CODES.has(fault.code)
    ? 'Staff role required'
    : isOfFilters
      ? 'Check the filters'
      : (TITLES_BY_STATUS[fault.status] ?? FAULTS[fault.code][1])
  return {
    status: fault.status,
    title,
    main: html`<h1>${title}</h1><p class="lead">${
      fault.status >= 500
        ? `The error is on our side and has been logged. ${nextStep(fault)}`
        : sentencesFor(fault)
    }</p>
<p>You were not charged. Error code: ${errorCodeLink(fault)}${
      fault.status >= 500 && html`, request id: <code>${request.requestId}</code>`
    }.</p><p>${nextPageButton(fault, request)}</p>`,
  }
}
