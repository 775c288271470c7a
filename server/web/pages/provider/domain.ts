import { z } from 'zod'
import { type Clock, dayName, daysBefore } from '../../../../core/clock.ts'
import type { Listed } from '../../../rest/paging.ts'
import type { WholeDomainJson } from '../../../rest/provider/domains.ts'
import type { EarningJson } from '../../../rest/provider/domains-earnings.ts'
import type { RuleJson } from '../../../rest/provider/domains-rules.ts'
import { SELLING } from '../../areas.ts'
import { COPY_SCRIPT } from '../../assets.ts'
import { ticked } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { instantText, money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { type Act, type AnyPage, act, type PageRequest, page } from '../../page.ts'
import { facts } from '../../table.ts'
import { earningsPart } from './domain-earnings.ts'
import { ruleActs, rulesPart, TryQuery, triedPart } from './domain-rules.ts'
import { domainBadge } from './domains.ts'

const DAYS = 30
const pathOf = (id: string | undefined, done: string): string =>
  `/provider/domains/${id ?? ''}?done=${done}`

const ACTS: Readonly<Record<string, Act>> = {
  verify: act({
    fields: z.object({}),
    run: async ({ ask, params }) => {
      await ask('POST /v1/domains/{id}/verify', { params })
      return { to: pathOf(params['id'], 'verified') }
    },
  }),
  change: act({
    fields: z.object({ name: z.string(), summary: z.string() }),
    run: async ({ ask, params }, body) => {
      await ask('PATCH /v1/domains/{id}', { params, body })
      return { to: pathOf(params['id'], 'changed') }
    },
  }),
  sell: act({
    fields: z.object({ selling: z.enum(['true', 'false']) }),
    run: async ({ ask, params }, { selling }) => {
      await ask('PATCH /v1/domains/{id}', { params, body: { selling: selling === 'true' } })
      return { to: pathOf(params['id'], selling === 'true' ? 'selling' : 'resting') }
    },
  }),
  delete: act({
    fields: z.object({ sure: ticked.refine((sure) => sure, 'has to be ticked') }),
    run: async ({ ask, params }) => {
      await ask('DELETE /v1/domains/{id}', { params })
      return { to: '/provider/domains?done=deleted' }
    },
  }),
  ...ruleActs,
}

/** `/provider/domains/{id}`: its proof, its prices, and what it earned. */
export const domainPage = ({ clock }: { readonly clock: Clock }): AnyPage =>
  page({
    path: '/provider/domains/{id}',
    person: true,
    query: TryQuery,
    acts: ACTS,
    done: {
      added: 'The domain is added. Now show that it is yours.',
      verified: 'The domain is proven. Its pages are sold as your rules say.',
      changed: 'Saved.',
      selling: 'Its pages are sold again.',
      resting: 'Nothing of it is sold, at once.',
      rule: 'The rules count from now on, everywhere within a second.',
    },
    show: async (request) => {
      const { ask, params } = request
      const [domain, { rules }, ...earned] = await Promise.all([
        ask<WholeDomainJson>('GET /v1/domains/{id}', { params }),
        ask<{ rules: readonly RuleJson[] }>('GET /v1/domains/{id}/rules', { params }),
        earningsOf(request, clock.now(), 'day', '100'),
        earningsOf(request, clock.now(), 'page', '10'),
      ])
      return {
        title: domain.domain,
        area: SELLING,
        tab: 'Domains',
        scripts: [COPY_SCRIPT],
        main: html`<p class="crumbs"><a href="/provider/domains">Domains</a></p>
<h1>${domain.domain} ${domainBadge(domain)}</h1>${proof(domain)}${
          domain.state !== 'pending' && sold(domain)
        }${rulesPart(rules, request)}${await triedPart(request)}${
          domain.state !== 'pending' && earningsPart(daysOf(clock.now()), ...earned)
        }${settings(domain, request)}`,
      }
    },
  })

const daysOf = (now: Date): readonly string[] =>
  Array.from({ length: DAYS }, (_, i) => dayName(daysBefore(now, DAYS - 1 - i)))

const earningsOf = async ({ ask, params }: PageRequest, now: Date, by: string, limit: string) => {
  const query = { by, limit, from: dayName(daysBefore(now, DAYS - 1)) }
  return (await ask<Listed<EarningJson>>('GET /v1/domains/{id}/earnings', { params, query })).data
}

const STEPS: Readonly<Record<string, string>> = {
  file: 'A file at this address, with this text in it',
  meta: 'A tag in the head of the first page',
  dns: 'A TXT record in the DNS',
}

function proof({
  state,
  proof: { ways, method, proven_at: at, next_check_at: next },
}: WholeDomainJson) {
  const verify = form({ act: 'verify', submit: 'Look for the proof' })
  if (state === 'verified') {
    return html`<p>Proven by ${method}, ${instantText(at)}. Keep the proof where it is: it is looked
for again ${instantText(next)}.</p>`
  }
  return html`<h2>Prove that it is yours</h2>${
    state !== 'pending' &&
    html`<p>The proof was not found any more, or somebody else has proven the host since.</p>`
  }<p>One of these is enough. It stays there: it is looked for every day.</p>
<ol class="steps">${ways.map(
    (way) =>
      html`<li><p><strong>${STEPS[way.method] ?? way.method}</strong></p>
<p class="secret"><code>${way.where}</code></p><p class="secret"><code>${way.content}</code>
<button type="button" class="plain" data-copy="${way.content}" hidden>Copy</button></p></li>`,
  )}</ol><p>Then let the hub look:</p>${verify}`
}

const sold = (domain: WholeDomainJson): Html =>
  html`<dl class="figures"><div><dt>Earned, not paid out</dt><dd>${money(
    domain.earned_microdollars,
  )}</dd></div></dl>${facts({
    'Sold as': domain.slug && html`<a href="/services/${domain.slug}">${domain.slug}</a>`,
    'Bought at': domain.fetch_url && html`<code>${domain.fetch_url}</code>`,
  })}`

const settings = (domain: WholeDomainJson, { sent }: PageRequest<unknown>): Html => {
  const { text } = fieldsOf('change', sent)
  return html`<h2>How it is shown</h2>${form({
    act: 'change',
    submit: 'Save',
    kind: 'plain',
    fields: [
      text({ name: 'name', label: 'Name', required: true, max: 100, value: domain.name }),
      text({ name: 'summary', label: 'Summary', required: true, max: 500, value: domain.summary }),
    ],
  })}${domain.state !== 'pending' && selling(domain)}<h2>Delete</h2>${form({
    act: 'delete',
    submit: 'Delete',
    kind: 'danger',
    fields: [fieldsOf('delete', sent).sure('Ends the sale. What it earned stays yours.')],
  })}`
}

const selling = (domain: WholeDomainJson): Html =>
  html`<h2>${domain.selling ? 'Stop selling' : 'Sell again'}</h2><p>${
    domain.selling
      ? 'Opts the whole domain out, at once. Its rules and its proof stay.'
      : 'The domain is opted out: nothing of it is sold.'
  }</p>${form({
    act: 'sell',
    submit: domain.selling ? 'Opt out' : 'Sell again',
    hidden: { selling: domain.selling ? 'false' : 'true' },
    kind: 'plain',
  })}`
