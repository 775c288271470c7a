import { z } from 'zod'
import { bySpecificity, pageOf } from '../../../core/catalog/domains/pages.ts'
import { readRules, writeRules } from '../../../core/catalog/domains/rules.ts'
import { findDomain } from '../../../core/catalog/domains/store.ts'
import { Fault } from '../../../core/errors.ts'
import { json, micros } from '../../../core/money.ts'
import type { PageRule } from '../../../core/plugin/pages.ts'
import { type AnyRoute, ownerOf, route } from '../route.ts'
import type { DomainPorts } from './domains.ts'
import { selector } from './selectors.ts'

const RULES_MAX = 200
const WILDCARDS_MAX = 10
const PRICE_MAX = 1_000_000_000
const HOUR = 3_600

const pattern = z
  .string()
  .min(1)
  .max(500)
  .regex(/^\/[^\p{Cc}?#\\]*$/u, 'a path: it starts with a slash, and has no query')
  .refine((text) => !text.includes('***'), 'has * and ** alone for wildcards')
  .refine(
    (text) => (text.match(/\*+/g)?.length ?? 0) <= WILDCARDS_MAX,
    `${WILDCARDS_MAX} wildcards at most`,
  )
  .meta({ description: '* within a segment, ** over segments: /blog/**, /archive/2024-*.' })

const price = z.int().min(0).max(PRICE_MAX)

const Rule = z.strictObject({
  path: pattern,
  action: z.enum(['sell', 'deny']).default('sell'),
  price_microdollars: price.optional().meta({ description: 'A page. Needed where it is sold.' }),
  cached_price_microdollars: price
    .optional()
    .meta({ description: 'Of a page that was kept. Left out: the price.' }),
  max_age_seconds: z.int().min(0).max(2_592_000).default(HOUR).meta({
    description: 'How old a page may be that is sold; 0: none is kept.',
  }),
  preview_characters: z.int().min(0).max(5_000).default(0).meta({
    description: 'So much of the text is free (?preview=true).',
  }),
  wait_for: selector.nullable().default(null).meta({
    description: 'CSS selector that a page has to have before it is read.',
  }),
  exclude: z.array(selector).max(50).default([]).meta({
    description: 'CSS selectors of what is left out.',
  }),
  fast: z.boolean().default(false).meta({
    description: 'Pages are read without a browser where that gives a text.',
  }),
})

export type RuleJson = z.infer<typeof Rule>

const Rules = z.strictObject({ rules: z.array(Rule).max(RULES_MAX) })
const Tried = z.object({
  outcome: z.enum([
    'sold',
    'malformed_url',
    'domain_not_registered',
    'page_not_for_sale',
    'page_denied',
  ]),
  rule: Rule.nullable(),
})

/** The most specific rule counts; what no rule names is not sold. */
export const domainRules = (ports: DomainPorts): readonly AnyRoute[] => [
  route({
    method: 'GET',
    path: '/v1/domains/{id}/rules',
    summary: 'How the pages of a domain are sold.',
    auth: 'provider',
    answer: { status: 200, schema: Rules },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const domain = await findDomain(ports.pool, ownerOf(request), id)
      return { body: { rules: (await readRules(ports.pool, domain.id)).map(show) } }
    },
  }),
  route({
    method: 'PUT',
    path: '/v1/domains/{id}/rules',
    summary: 'Sets prices and rules of a domain, all at once; they count within a second.',
    auth: 'provider',
    body: Rules,
    example: {
      rules: [
        { path: '/**', price_microdollars: 5_000, preview_characters: 200 },
        { path: '/members/**', action: 'deny' },
      ],
    },
    answer: { status: 200, schema: Rules },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const domain = await findDomain(ports.pool, ownerOf(request), id)
      const rules = request.body.rules.map(read)
      assertApart(rules)
      await writeRules(ports.pool, domain.id, rules)
      if (domain.slug !== null) await ports.catalog.refresh(domain.slug)
      return { body: { rules: rules.map(show) } }
    },
  }),
  route({
    method: 'POST',
    path: '/v1/domains/{id}/rules/try',
    summary: 'Tells which rule a page falls under. Nothing is fetched.',
    auth: 'provider',
    body: z.strictObject({ url: z.string().min(1).max(2_048) }),
    example: { url: 'https://example.com/blog/first' },
    answer: { status: 200, schema: Tried },
    faults: ['root_key_required', 'domain_not_found'],
    handle: async (request) => {
      const { id = '' } = request.params
      const domain = await findDomain(ports.pool, ownerOf(request), id)
      const rules = bySpecificity(await readRules(ports.pool, domain.id))
      const found = pageOf({ ...domain, rules }, request.body.url)
      const sold = typeof found === 'string' ? undefined : show(found.rule)
      return { body: { outcome: sold ? 'sold' : found, rule: sold ?? null } }
    },
  }),
]

/** @throws Fault `validation_failed` */
function read(rule: z.infer<typeof Rule>, index: number): PageRule {
  const { path, action, price_microdollars: asked, cached_price_microdollars: cached } = rule
  const allow = action === 'sell'
  if (allow && asked === undefined) throw bad(index, 'price_microdollars', 'is required')
  if (cached !== undefined && cached > (asked ?? 0)) {
    throw bad(index, 'cached_price_microdollars', 'is above the price')
  }
  const price = micros(BigInt(asked ?? 0))
  return {
    pattern: decoded(path, index),
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

/** Paths are matched as they are read, so patterns are kept that way too. */
function decoded(path: string, index: number): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw bad(index, 'path', 'is not UTF-8')
  }
}

function assertApart(rules: readonly PageRule[]): void {
  const seen = new Set<string>()
  for (const [index, { pattern: text }] of rules.entries()) {
    if (seen.has(text)) throw bad(index, 'path', 'is there twice')
    seen.add(text)
  }
}

const bad = (index: number, field: string, message: string): Fault => {
  const path = `/rules/${index}/${field}`
  const extras = { issues: [{ path, message }] }
  return new Fault('validation_failed', `${path}: ${message}.`, { extras })
}

const show = (rule: PageRule) => ({
  path: rule.pattern,
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
