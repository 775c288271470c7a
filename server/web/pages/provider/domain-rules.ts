import { z } from 'zod'
import type { RuleJson } from '../../../rest/provider/domains/rules.ts'
import { type Dialog, dialogPath, dialogs, rowMenu } from '../../dialog.ts'
import { foldedFields, form, formFields, submittedWas } from '../../form.ts'
import { checkbox, dollarsValue, lineList, optionalDollars } from '../../form-schemas.ts'
import { formatDollars } from '../../format.ts'
import { type Html, html } from '../../html.ts'
import { emptyState } from '../../messages.ts'
import { type FormAction, formAction, type PageRequest, type Submission } from '../../page.ts'
import { cardTable } from '../../table.ts'

/** Query of the page of a domain. */
export const DomainQuery = z.object({
  /** Rule to edit, as `nameOf` names it. */
  rule: z.string().max(15_000).optional(),
  /** URL of a page whose price is looked up. */
  url: z.string().trim().max(2_048).optional(),
  /** Dialog that is open. */
  edit: z.string().max(20).optional(),
})
export type DomainRequest = PageRequest<z.infer<typeof DomainQuery>>

const CACHE_AGES = {
  '0': 'not cached',
  '600': '10 minutes',
  '3600': '1 hour',
  '86400': '1 day',
  '604800': '1 week',
  '2592000': '30 days',
} as const

const RuleFields = z.object({
  was: z.string().default(''),
  path: z.string().trim(),
  agents: lineList,
  action: z.enum(['sell', 'deny']),
  price: optionalDollars,
  cached_price: optionalDollars,
  max_age_seconds: z
    .string()
    .regex(/^\d{1,7}$/, 'enter seconds')
    .default('3600'),
  preview_characters: z
    .string()
    .trim()
    .regex(/^\d{0,4}$/, 'enter a whole number')
    .default('0'),
  wait_for: z.string().trim().default(''),
  exclude: lineList,
  fast: checkbox,
})

/** Reads all rules, changes them and writes them back, because REST replaces them as a whole. */
const updateRules = async (
  { api, params }: PageRequest,
  change: (rules: readonly RuleJson[]) => readonly unknown[],
) => {
  const { rules } = await api<{ rules: readonly RuleJson[] }>('GET /v1/domains/{id}/rules', {
    params,
  })
  await api('PUT /v1/domains/{id}/rules', { params, body: { rules: change(rules) } })
  return { to: `/provider/domains/${params['id'] ?? ''}?done=rule` }
}

export const ruleActions: Readonly<Record<string, FormAction>> = {
  rule: formAction({
    fields: RuleFields,
    run: (request, fields) => {
      const rule = {
        path: fields.path,
        agents: fields.agents,
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
      return updateRules(request, (rules) =>
        rules.some((each) => nameOf(each) === fields.was)
          ? rules.map((each) => (nameOf(each) === fields.was ? rule : each))
          : [...rules, rule],
      )
    },
  }),
  unrule: formAction({
    fields: z.object({ rule: z.string() }),
    run: (request, { rule }) =>
      updateRules(request, (rules) => rules.filter((each) => nameOf(each) !== rule)),
  }),
}

/** Name of a rule among those of its domain: neither paths nor hosts contain a tab. */
const nameOf = ({ path, agents }: RuleJson): string => [path, ...agents].join('\t')

/** Name of the dialog that adds or edits a rule, and of its action. */
const RULE = 'rule'

/**
 * Price rules of a domain in the order in which they are tried, and the dialog that adds or edits
 * one.
 * @param applied the rule that applies to a page that was looked up
 */
export function rulesPart(
  rules: readonly RuleJson[],
  request: DomainRequest,
  applied: RuleJson | null,
): Html {
  const { path, query, submission } = request
  const named = submission?.act === RULE ? submission.values['was'] : query.rule
  const editing = rules.find((rule) => nameOf(rule) === named)
  return html`<h2 id="rules">Prices</h2><p>The first rule that matches a page applies: the most
specific ones come first. Pages without a rule are not sold. A rule may be for agents that <a
href="/docs/agents#signatures">sign their requests</a>.</p>${
    rules.length === 0
      ? emptyState('No prices yet: nothing is sold.')
      : ruleTable(rules, path, applied && nameOf(applied))
  }${dialogs([ruleDialog(editing, request)], path, submission?.act ?? query.edit)}`
}

const ruleTable = (rules: readonly RuleJson[], path: string, applied: string | null): Html =>
  cardTable(
    'Prices',
    [
      { head: 'Order', number: true, cell: ({ row }) => row + 1 },
      {
        head: 'Pages',
        cell: ({ rule }) =>
          html`<code>${rule.path}</code>${
            nameOf(rule) === applied && html` <span class="badge good">applies</span>`
          }`,
      },
      { head: 'For', cell: ({ rule }) => agentsText(rule.agents) },
      {
        head: 'Price',
        number: true,
        cell: ({ rule }) =>
          rule.action === 'deny' ? 'not sold' : formatDollars(rule.price_microdollars ?? 0),
      },
      {
        head: 'Cached page',
        number: true,
        cell: ({ rule }) =>
          rule.action === 'deny' || rule.max_age_seconds === 0
            ? '–'
            : formatDollars(rule.cached_price_microdollars ?? 0),
      },
      {
        head: 'Cached for',
        cell: ({ rule }) => rule.action === 'sell' && cacheAge(rule.max_age_seconds),
      },
      {
        head: 'Actions',
        cell: ({ row, rule }) => ruleMenu(`menu-rule-${row}`, rule, path),
      },
    ],
    rules.map((rule, row) => ({ rule, row })),
  )

const ruleMenu = (id: string, rule: RuleJson, path: string): Html =>
  rowMenu(id, rule.path, [
    html`<a href="${dialogPath(path, RULE, { rule: nameOf(rule) })}">Edit</a>`,
    form({
      act: 'unrule',
      submit: 'Remove',
      to: path,
      hidden: { rule: nameOf(rule) },
      kind: 'plain',
      label: `Remove the price of ${rule.path}`,
    }),
  ])

const agentsText = (agents: readonly string[]): string =>
  agents.length === 0 ? 'everyone' : agents.join(', ').replace('*', 'any verified agent')

const cacheAge = (seconds: number): string =>
  (CACHE_AGES as Readonly<Record<string, string>>)[seconds] ?? `${seconds} seconds`

const ruleDialog = (rule: RuleJson | undefined, request: DomainRequest): Dialog => ({
  name: RULE,
  button: 'Add a price…',
  title: rule ? `Edit ${rule.path}` : 'Add a price',
  content: ruleForm(rule, request),
})

function ruleForm(rule: RuleJson | undefined, { submission, path }: DomainRequest): Html {
  const { text, select } = formFields(RULE, submission)
  return form({
    act: RULE,
    submit: rule ? 'Save price' : 'Add price',
    to: path,
    hidden: { was: submittedWas(submission, RULE) ?? (rule ? nameOf(rule) : '') },
    fields: [
      text({
        name: 'path',
        label: 'Pages',
        required: true,
        max: 500,
        value: rule?.path ?? '/**',
        hint: html`<code>*</code> matches within a path segment, <code>**</code> across
segments: <code>/blog/**</code>, <code>/archive/2024-*</code>.`,
      }),
      text({
        name: 'agents',
        label: 'Agents',
        lines: 2,
        value: rule?.agents.join('\n') ?? '',
        hint: html`Hosts of the agents that the rule is for, one per line; <code>*</code> for any
verified agent. Empty: for everyone.`,
      }),
      select(
        { name: 'action', label: 'Sale', value: rule?.action ?? 'sell', required: true },
        { sell: 'Sold', deny: 'Not sold' },
      ),
      html`<div class="row">${[
        text({
          name: 'price',
          label: 'Price per page (USD)',
          numeric: true,
          size: 10,
          value: dollarsValue(rule?.price_microdollars ?? null),
        }),
        text({
          name: 'cached_price',
          label: 'Price per cached page (USD)',
          numeric: true,
          size: 10,
          value: dollarsValue(rule?.cached_price_microdollars ?? null),
        }),
      ]}</div>`,
      readingFields(rule, submission),
    ],
  })
}

/** Fields for reading, caching and previewing the pages of a rule. */
function readingFields(rule: RuleJson | undefined, submission: Submission | undefined): Html {
  const { text, select, check } = formFields(RULE, submission)
  const age = String(rule?.max_age_seconds ?? 3_600)
  const fields = [
    select(
      { name: 'max_age_seconds', label: 'Cache pages for', value: age },
      {
        ...CACHE_AGES,
        ...(Object.hasOwn(CACHE_AGES, age) ? {} : { [age]: cacheAge(Number(age)) }),
      },
    ),
    text({
      name: 'preview_characters',
      label: 'Free preview (characters)',
      numeric: true,
      size: 6,
      value: String(rule?.preview_characters ?? 0),
      hint: 'Length of the text that anyone may read before buying.',
    }),
    text({
      name: 'wait_for',
      label: 'Wait for',
      value: rule?.wait_for ?? '',
      hint: 'CSS selector that must match before the page is read.',
    }),
    text({
      name: 'exclude',
      label: 'Exclude',
      lines: 3,
      value: rule?.exclude.join('\n') ?? '',
      hint: 'CSS selectors, one per line.',
    }),
    check({
      name: 'fast',
      label: 'Skip the browser if the HTML already contains the text',
      checked: rule?.fast ?? false,
      hint: 'Faster, but not suitable for pages rendered by scripts.',
    }),
  ]
  return foldedFields('Reading and caching', fields, submission?.act === RULE)
}
