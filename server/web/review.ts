import type { ReviewJson } from '../rest/review-view.ts'
import { formatTime, pluralize } from './format.ts'
import { type Html, html } from './html.ts'
import { cardTable } from './table.ts'

/** More rows are read by REST. */
const ROWS_MAX = 200

type Waiting = NonNullable<ReviewJson['waiting']>

/** Version that awaits approval: the one in use meanwhile, why it is held, and its changes. */
export const reviewSummary = ({
  approved_version: approved,
  waiting,
}: ReviewJson): Html | undefined =>
  waiting === null
    ? undefined
    : html`<p><strong>Version ${waiting.version} awaits approval</strong> since ${formatTime(
        waiting.since,
      )}. ${inUse(approved)}</p>${
        waiting.held.length > 0 &&
        html`<div class="box fair"><p><strong>Held for review:</strong></p><ul>${waiting.held.map(
          (reason) => html`<li>${reason}</li>`,
        )}</ul></div>`
      }${changesTable(waiting)}`

const inUse = (approved: number | null): string =>
  approved === null ? 'Callers see nothing yet.' : `Callers see version ${approved}.`

const changesTable = ({ changes }: Waiting): Html =>
  html`${cardTable(
    'Changes',
    [
      { head: 'Where', cell: ({ at }) => html`<code>${at}</code>` },
      { head: 'Before', cell: ({ before }) => before ?? html`<span class="muted">none</span>` },
      { head: 'After', cell: ({ after }) => after ?? html`<span class="muted">removed</span>` },
    ],
    changes.slice(0, ROWS_MAX),
  )}${
    changes.length > ROWS_MAX &&
    html`<p class="small muted">${pluralize(changes.length - ROWS_MAX, 'more change')}: see
<code>review</code> in REST.</p>`
  }`

/** Notice to the provider about a waiting or refused version, with a button to withdraw it. */
export const reviewNotice = (review: ReviewJson, withdraw: Html): Html | undefined =>
  review.waiting
    ? html`<section><h2>Review</h2>${reviewSummary(review)}<p>${review.waiting.advice}</p>
<p>${withdraw}</p></section>`
    : review.refused
      ? html`<div class="box bad"><p><strong>Version ${review.refused.version} was
refused</strong> on ${formatTime(review.refused.at)}: ${review.refused.reason}</p><p>Change it to
submit a new version.</p></div>`
      : undefined
