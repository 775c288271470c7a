import { z } from 'zod'
import type { RuleJson } from '../../../rest/provider/domains-rules.ts'
import { dollarText, optionalDollars, ticked } from '../../fields.ts'
import { fieldsOf, form } from '../../form.ts'
import { money } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { empty } from '../../notices.ts'
import { type Act, act, type PageRequest, type Sent } from '../../page.ts'
import { address, cardTable } from '../../table.ts'

/** What the page of a domain may be asked for. */
export const TryQuery = z.object({
  /** The path of the rule that is to be changed. */
  rule: z.string().max(500).optional(),
  /** A page, to see which rule counts for it. */
  url: z.string().trim().max(2_048).optional(),
})
type Request = PageRequest<z.infer<typeof TryQuery>>

const AGES = {
  '0': 'never: each is read anew',
  '600': 'for 10 minutes',
  '3600': 'for an hour',
  '86400': 'for a day',
  '604800': 'for a week',
  '2592000': 'for 30 days',
} as const

const lines = z
  .string()
  .max(10_000)
  .default('')
  .transform((text) => text.split('\n').map((line) => line.trim()))
  .transform((all) => all.filter(Boolean))

const RuleFields = z.object({
  was: z.string().default(''),
  path: z.string().trim(),
  action: z.enum(['sell', 'deny']),
  price: optionalDollars,
  cached_price: optionalDollars,
  max_age_seconds: z
    .string()
    .regex(/^\d{1,7}$/, 'seconds')
    .default('3600'),
  preview_characters: z
    .string()
    .trim()
    .regex(/^\d{0,4}$/, 'a whole number')
    .default('0'),
  wait_for: z.string().trim().default(''),
  exclude: lines,
  fast: ticked,
})

/** Rules are written all at once: the others are read first, and stay as they are. */
const rewrite = async (
  { ask, params }: PageRequest,
  change: (rules: readonly RuleJson[]) => readonly unknown[],
) => {
  const { rules } = await ask<{ rules: readonly RuleJson[] }>('GET /v1/domains/{id}/rules', {
    params,
  })
  await ask('PUT /v1/domains/{id}/rules', { params, body: { rules: change(rules) } })
  return { to: `/provider/domains/${params['id'] ?? ''}?done=rule` }
}

export const ruleActs: Readonly<Record<string, Act>> = {
  rule: act({
    fields: RuleFields,
    run: (request, fields) => {
      const rule = {
        path: fields.path,
        action: fields.action,
        ...(fields.action === 'sell' && {
          price_microdollars: fields.price ?? undefined,
          cached_price_microdollars: fields.cached_price ?? undefined,
        }),
        max_age_seconds: Number(fields.max_age_seconds),
        preview_characters: Number(fields.preview_characters),
        wait_for: fields.wait_for || null,
        exclude: fields.exclude,
        fast: fields.fast,
      }
      return rewrite(request, (rules) =>
        rules.some(({ path }) => path === fields.was)
          ? rules.map((each) => (each.path === fields.was ? rule : each))
          : [...rules, rule],
      )
    },
  }),
  unrule: act({
    fields: z.object({ path: z.string() }),
    run: (request, { path }) =>
      rewrite(request, (rules) => rules.filter((rule) => rule.path !== path)),
  }),
}

/** The prices of a domain's pages, and the form that makes or changes one. */
export function rulesPart(rules: readonly RuleJson[], request: Request): Html {
  const editing = rules.find(({ path }) => path === request.query.rule)
  return html`<h2 id="rules">Prices</h2><p>The most specific rule counts; what no rule names is not
sold.</p>${
    rules.length === 0
      ? empty('There is no price yet, and so nothing is sold.')
      : ruleTable(rules, request.path)
  }${ruleForm(editing, request)}`
}

const ruleTable = (rules: readonly RuleJson[], path: string): Html =>
  cardTable(
    'Prices',
    [
      { head: 'Pages', cell: (rule) => html`<code>${rule.path}</code>` },
      {
        head: 'Price',
        number: true,
        cell: ({ action, price_microdollars: price }) =>
          action === 'deny' ? 'not sold' : money(price ?? 0),
      },
      {
        head: 'A kept page',
        number: true,
        cell: ({ action, cached_price_microdollars: price, max_age_seconds: age }) =>
          action === 'deny' || age === 0 ? '–' : money(price ?? 0),
      },
      { head: 'Kept', cell: ({ action, max_age_seconds: age }) => action === 'sell' && kept(age) },
      {
        head: 'Change',
        cell: (rule) =>
          html`<div class="actions"><a class="button plain" href="${address(path, {
            rule: rule.path,
          })}#rule" aria-label="Change the price of ${rule.path}">Change</a>${form({
            act: 'unrule',
            submit: 'Remove',
            hidden: { path: rule.path },
            kind: 'plain',
            label: `Remove the price of ${rule.path}`,
          })}</div>`,
      },
    ],
    rules,
  )

const kept = (seconds: number): string =>
  (AGES as Readonly<Record<string, string>>)[seconds] ?? `for ${seconds} seconds`

function ruleForm(rule: RuleJson | undefined, { sent, path }: Request): Html {
  const { text, select } = fieldsOf('rule', sent)
  return html`<h3 id="rule">
${rule ? html`Change <code>${rule.path}</code>` : 'Add a price'}</h3>${form({
    act: 'rule',
    submit: rule ? 'Save the price' : 'Add the price',
    to: path,
    hidden: { was: sent?.act === 'rule' ? (sent.values['was'] ?? '') : (rule?.path ?? '') },
    fields: [
      text({
        name: 'path',
        label: 'Pages',
        required: true,
        max: 500,
        value: rule?.path ?? '/**',
        hint: html`<code>*</code> stands for anything within a segment, <code>**</code> over
segments: <code>/blog/**</code>, <code>/archive/2024-*</code>.`,
      }),
      select(
        { name: 'action', label: 'They are', value: rule?.action ?? 'sell', required: true },
        { sell: 'sold', deny: 'not sold' },
      ),
      html`<div class="row">${[
        text({
          name: 'price',
          label: 'Price of a page, in dollars',
          numeric: true,
          size: 10,
          value: dollarText(rule?.price_microdollars ?? null),
        }),
        text({
          name: 'cached_price',
          label: 'Of a kept page',
          numeric: true,
          size: 10,
          value: dollarText(rule?.cached_price_microdollars ?? null),
        }),
      ]}</div>`,
      reading(rule, sent),
    ],
  })}${rule && html`<p><a href="${path}#rules">Leave it as it is</a></p>`}`
}

/** How the pages of a rule are read, kept, and shown before they are bought. */
function reading(rule: RuleJson | undefined, sent: Sent | undefined): Html {
  const { text, select, check } = fieldsOf('rule', sent)
  const age = String(rule?.max_age_seconds ?? 3_600)
  return html`<details${sent?.act === 'rule' && html` open`}><summary>How pages are read</summary>
<div class="stack">${[
    select(
      { name: 'max_age_seconds', label: 'A page is kept', value: age },
      {
        ...AGES,
        ...(Object.hasOwn(AGES, age) ? {} : { [age]: kept(Number(age)) }),
      },
    ),
    text({
      name: 'preview_characters',
      label: 'Characters that are free',
      numeric: true,
      size: 6,
      value: String(rule?.preview_characters ?? 0),
      hint: 'So much of the text anybody may read before buying.',
    }),
    text({
      name: 'wait_for',
      label: 'Wait for',
      value: rule?.wait_for ?? '',
      hint: 'A CSS selector that the page has to have before it is read.',
    }),
    text({
      name: 'exclude',
      label: 'Leave out',
      lines: 3,
      value: rule?.exclude.join('\n') ?? '',
      hint: 'CSS selectors, one on each line.',
    }),
    check({
      name: 'fast',
      label: 'Without a browser where that gives a text',
      checked: rule?.fast ?? false,
      hint: 'Quicker. Not for pages that scripts write.',
    }),
  ]}</div></details>`
}

const OUTCOMES: Readonly<Record<string, string>> = {
  malformed_url: 'That is no address of a page.',
  domain_not_registered: 'That page is not on this domain.',
  page_not_for_sale: 'No rule names that page: it is not sold.',
  page_denied: 'That page is not sold: a rule says so.',
}

/** Which rule counts for a page. */
export async function triedPart({ ask, params, query: { url }, path }: Request): Promise<Html> {
  const tried =
    url === undefined || url === ''
      ? undefined
      : await ask<{ outcome: string; rule: RuleJson | null }>('POST /v1/domains/{id}/rules/try', {
          params,
          body: { url },
        })
  return html`<h3 id="try">What does a page cost?</h3><form action="${path}#try" class="fields">
<div><label for="try-url">Address of the page</label><input id="try-url" name="url" type="url"
value="${url}" size="36" required></div><button type="submit" class="plain">Look</button></form>${
    tried &&
    html`<div class="box" role="status"><p>${
      tried.rule
        ? html`<strong>${money(tried.rule.price_microdollars ?? 0)}</strong>, by the rule
<code>${tried.rule.path}</code>.`
        : (OUTCOMES[tried.outcome] ?? tried.outcome)
    }</p></div>`
  }`
}
