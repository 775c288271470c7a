import { z } from 'zod'
import { matchPage, sortBySpecificity } from '../../../../core/catalog/domains/match-page.ts'
import { readRules, writeRules } from '../../../../core/catalog/domains/rules.ts'
import { findDomain } from '../../../../core/catalog/domains/store.ts'
import type { Fault } from '../../../../core/errors.ts'
import { json, micros } from '../../../../core/money.ts'
import type { PageRule } from '../../../../core/plugin/pages.ts'
import { inputFault } from '../../input-errors.ts'
import { type AnyRoute, ownerOf, route } from '../../route.ts'
import type { DomainDeps } from './deps.ts'
import { selector } from './selectors.ts'

const RULES_MAX = 200
const WILDCARDS_MAX = 10
const PRICE_MAX_MICROS = 1_000_000_000
const DEFAULT_MAX_AGE_SECONDS = 3_600

const pattern = z
  .string()
  .min(1)
  .max(500)
  .regex(/^\/[^\p{Cc}?#\\]*$/u, 'must be a path that starts with a slash, without a query')
  .refine((text) => !text.includes('***'), 'must use only * and ** as wildcards')
  .refine(
    (text) => (text.match(/\*+/g)?.length ?? 0) <= WILDCARDS_MAX,
    `must have at most ${WILDCARDS_MAX} wildcards`,
  )
  .meta({
    description: '* matches within a segment, ** across segments: /blog/**, /archive/2024-*.',
  })

const price = z.int().min(0).max(PRICE_MAX_MICROS)

const AGENTS_MAX = 50
/** An index holds a rule's path and agents. */
const AGENTS_LENGTH_MAX = 1_500
const agent = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .regex(/^(?:\*|[a-z\d-]+(?:\.[a-z\d-]+)+)$/, 'must be a host, such as agent.example, or *')

const RuleField = z.strictObject({
  path: pattern,
  agents: z
    .array(agent)
    .max(AGENTS_MAX)
    .refine((agents) => agents.join('').length <= AGENTS_LENGTH_MAX, {
      error: `all hosts together have at most ${AGENTS_LENGTH_MAX} characters`,
    })
    .default([])
    .meta({
      description:
        'Hosts of the agents that the rule is for, which sign their requests (Web Bot Auth). ' +
        '*: any verified agent. Default: everyone.',
    }),
  action: z.enum(['sell', 'deny']).default('sell'),
  price_microdollars: price.optional().meta({ description: 'Required for action sell.' }),
  cached_price_microdollars: price
    .optional()
    .meta({ description: 'Price of a cached page. Default: the price.' }),
  max_age_seconds: z.int().min(0).max(2_592_000).default(DEFAULT_MAX_AGE_SECONDS).meta({
    description: 'Maximum age of cached pages. 0: no caching.',
  }),
  preview_characters: z.int().min(0).max(5_000).default(0).meta({
    description: 'Length of the free preview (?preview=true).',
  }),
  wait_for: selector.nullable().default(null).meta({
    description: 'CSS selector to wait for before the page is read.',
  }),
  exclude: z.array(selector).max(50).default([]).meta({
    description: 'CSS selectors of elements to omit.',
  }),
  fast: z.boolean().default(false).meta({
    description: 'Reads pages without a browser if that yields text.',
  }),
})

export type RuleJson = z.infer<typeof RuleField>

const OUTCOMES = [
  'sold',
  'malformed_url',
  'domain_not_registered',
  'page_not_for_sale',
  'page_denied',
] as const

const RuleSet = z.strictObject({ rules: z.array(RuleField).max(RULES_MAX) })
const RuleMatch = z.object({
  outcome: z.enum(OUTCOMES),
  rule: RuleField.nullable(),
})
const PageUrl = z.strictObject({ url: z.string().min(1).max(2_048) })
const PageOfAgent = PageUrl.extend({
  agent: agent.optional().meta({ description: 'Host of the verified agent that would ask.' }),
})
const PreviewView = z.object({
  ...RuleMatch.shape,
  robots_allowed: z.boolean().nullable().meta({ description: 'By robots.txt. null: not read.' }),
  directives: z.array(z.string()).meta({
    description: 'What the page asks of robots (meta robots, X-Robots-Tag), such as noai.',
  }),
  read_by: z.enum(['browser', 'fast']).nullable(),
  page: z.record(z.string(), z.unknown()).nullable().meta({ description: 'As callers get it.' }),
  problem: z.object({ code: z.string(), detail: z.string() }).nullable().meta({
    description: 'Why callers would not get the page.',
  }),
})

/** Price rules of a domain. The most specific rule applies; pages without a rule are not sold. */
export const domainRuleRoutes = (deps: DomainDeps): readonly AnyRoute[] => [
  ...priceRoutes(deps),
  ...trialRoutes(deps),
]

const priceRoutes = (deps: DomainDeps): readonly AnyRoute[] => [
  route('GET /v1/domains/{id}/rules', {
    summary: 'Returns the prices and rules of a domain, in the order in which they are tried.',
    auth: 'provider',
    response: { status: 200, schema: RuleSet },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const domain = await findDomain(deps.pool, ownerOf(request), request.params.id)
      return { body: showRules(await readRules(deps.pool, domain.id)) }
    },
  }),
  route('PUT /v1/domains/{id}/rules', {
    summary: 'Replaces all prices and rules of a domain; effective within a second.',
    auth: 'provider',
    body: RuleSet,
    example: {
      rules: [
        { path: '/**', price_microdollars: 5_000, preview_characters: 200 },
        { path: '/**', agents: ['agent.example'], price_microdollars: 2_000 },
        { path: '/members/**', action: 'deny' },
      ],
    },
    response: { status: 200, schema: RuleSet },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const domain = await findDomain(deps.pool, ownerOf(request), request.params.id)
      const rules = request.body.rules.map(toPageRule)
      assertDistinct(rules)
      await writeRules(deps.pool, domain.id, rules)
      if (domain.slug !== null) await deps.catalog.refresh(domain.slug)
      return { body: showRules(rules) }
    },
  }),
]

/** Show owners the effect of their rules on one page. */
const trialRoutes = (deps: DomainDeps): readonly AnyRoute[] => [
  route('POST /v1/domains/{id}/rules/try', {
    summary: 'Returns the rule that applies to a page, without fetching it.',
    auth: 'provider',
    body: PageOfAgent,
    example: { url: 'https://example.com/blog/first' },
    repeatable: true,
    response: { status: 200, schema: RuleMatch },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const domain = await findDomain(deps.pool, ownerOf(request), request.params.id)
      const rules = sortBySpecificity(await readRules(deps.pool, domain.id))
      const found = matchPage({ ...domain, rules }, request.body.url, request.body.agent)
      const sold = typeof found === 'string' ? undefined : showRule(found.rule)
      return { body: { outcome: sold ? 'sold' : found, rule: sold ?? null } }
    },
  }),
  route('POST /v1/domains/{id}/preview', {
    summary: 'Reads a page as callers would get it, with its rule, without charge.',
    auth: 'provider',
    body: PageUrl,
    example: { url: 'https://example.com/blog/first' },
    repeatable: true,
    response: { status: 200, schema: PreviewView },
    faults: ['root_key_required', 'domain_not_found', 'domain_not_proven', 'preview_too_soon'],
    handle: async (request) => {
      const { params, body } = request
      const found = await deps.previews.preview(ownerOf(request), params.id, body.url)
      const { outcome, rule, robotsAllowed = null, page, problem = null } = found
      return {
        body: {
          outcome,
          rule: rule ? showRule(rule) : null,
          robots_allowed: robotsAllowed,
          directives: [...(page?.directives ?? [])],
          read_by: page?.readBy ?? null,
          page: page?.article ?? null,
          problem,
        },
      }
    },
  }),
]

/** @throws Fault `validation_failed` */
function toPageRule(rule: z.infer<typeof RuleField>, index: number): PageRule {
  const { path, action, price_microdollars: amount, cached_price_microdollars: cached } = rule
  const allow = action === 'sell'
  if (allow && amount === undefined) throw invalid(index, 'price_microdollars', 'is required')
  if (cached !== undefined && cached > (amount ?? 0)) {
    throw invalid(index, 'cached_price_microdollars', 'must not exceed the price')
  }
  const price = micros(BigInt(amount ?? 0))
  return {
    pattern: decodePattern(path, index),
    agents: [...new Set(rule.agents)].sort(),
    allow,
    price,
    cachedPrice: cached === undefined ? price : micros(BigInt(cached)),
    maxAgeSeconds: rule.max_age_seconds,
    previewCharacters: rule.preview_characters,
    waitFor: rule.wait_for,
    exclude: rule.exclude,
    fast: rule.fast,
  }
}

/** Decodes a pattern, because it is matched against decoded paths. */
function decodePattern(path: string, index: number): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalid(index, 'path', 'must be valid UTF-8')
  }
}

function assertDistinct(rules: readonly PageRule[]): void {
  const seen = new Set<string>()
  for (const [index, { pattern: text, agents }] of rules.entries()) {
    const rule = JSON.stringify([text, agents])
    if (seen.has(rule)) throw invalid(index, 'path', 'is a duplicate')
    seen.add(rule)
  }
}

const invalid = (index: number, field: string, message: string): Fault =>
  inputFault(`/rules/${index}/${field}`, message)

/** Rules in the order in which they are tried: the first that matches a page applies. */
const showRules = (rules: readonly PageRule[]) => ({
  rules: sortBySpecificity(rules).map(showRule),
})

const showRule = (rule: PageRule) => ({
  path: rule.pattern,
  agents: [...rule.agents],
  action: rule.allow ? 'sell' : 'deny',
  ...(rule.allow && {
    price_microdollars: json(rule.price),
    cached_price_microdollars: json(rule.cachedPrice),
  }),
  max_age_seconds: rule.maxAgeSeconds,
  preview_characters: rule.previewCharacters,
  wait_for: rule.waitFor,
  exclude: rule.exclude,
  fast: rule.fast,
})
