import { type AnyService, defineService, micros, Reply, type SellingDomain } from 'agenthub/plugin'
import { deliverBatch, quoteBatch } from './batch.ts'
import { deliverPage, quotePage } from './fetch.ts'
import { LICENSE_TYPE, licenseOf } from './license.ts'
import type { GatewayDeps } from './obtain.ts'
import type { SalesList } from './sales-list.ts'
import * as schemas from './schemas.ts'
import { URLS_MAX } from './schemas.ts'

export interface ServiceDeps extends GatewayDeps {
  readonly salesList: Pick<SalesList, 'list'>
}

/** Returns the domain with the rules that apply to an agent. */
const forAgent = (domain: SellingDomain, agent: string | undefined): SellingDomain =>
  agent === undefined ? domain : { ...domain, page: (url) => domain.page(url, agent) }

/** Clients of x402 sign payments that are valid for a minute. */
const DEADLINE_SECONDS = 45

/** Creates the service that sells the pages of a domain. */
export const gatewayOf = (deps: ServiceDeps, domain: SellingDomain): AnyService =>
  defineService({
    slug: domain.slug,
    name: domain.name,
    category: 'content',
    summary: domain.summary,
    provider: domain.provider,
    endpoints: {
      'GET /fetch': {
        summary: `A page of ${domain.host}: title, text, headings, Markdown and more.`,
        price: {
          max: domain.maxPrice,
          min: domain.minPrice,
          of: (request, agent) => quotePage(deps, forAgent(domain, agent), request),
        },
        input: schemas.inputOf(domain.example),
        output: schemas.output,
        deadlineSeconds: DEADLINE_SECONDS,
        handle: (call) => deliverPage(deps, forAgent(domain, call.agent), call),
      },
      'POST /batch': {
        summary: `Up to ${URLS_MAX} pages of ${domain.host}; only delivered ones are charged.`,
        price: {
          max: micros(domain.maxPrice * BigInt(URLS_MAX)),
          of: (request, agent) => quoteBatch(deps, forAgent(domain, agent), request),
        },
        input: schemas.batchInputOf(domain.example),
        output: schemas.batchOutput,
        deadlineSeconds: DEADLINE_SECONDS,
        handle: (call) => deliverBatch(deps, forAgent(domain, call.agent), call),
      },
      'GET /pages': {
        summary: `Pages of ${domain.host} that are for sale, with prices: free.`,
        // Computed, because the lowest price is the one by which services are found.
        price: { max: domain.maxPrice, of: () => ({ amount: micros(0n) }) },
        input: schemas.listInput,
        output: schemas.listOutput,
        deadlineSeconds: DEADLINE_SECONDS,
        handle: ({ input, agent }) => deps.salesList.list(forAgent(domain, agent), input),
      },
      'GET /license.xml': {
        summary: `Terms of the pages of ${domain.host} (RSL): free.`,
        price: { max: domain.maxPrice, of: () => ({ amount: micros(0n) }) },
        input: schemas.noInput,
        handle: () => new Reply(licenseOf(domain), { headers: { 'Content-Type': LICENSE_TYPE } }),
      },
    },
  })
