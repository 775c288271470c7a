import { z } from 'zod'
import type { PublishedService } from '../../../core/catalog/services/published-services.ts'
import { json } from '../../../core/money.ts'

export const ServiceView = z.object({
  slug: z.string(),
  name: z.string(),
  type: z.literal('native'),
  category: z.string(),
  summary: z.string(),
  provider: z.string(),
  provider_name: z.string().nullable().meta({ description: 'Display name, if it has one.' }),
  endpoint_count: z.int(),
  price_microdollars: z.object({ min: z.int(), max: z.int() }),
  free_calls_per_month: z.int(),
  free_units_per_month: z.record(z.string(), z.int()).optional().meta({
    description: 'Free units of metered endpoints, by unit.',
  }),
  uptime_percentage: z.number().nullable(),
  average_latency_ms: z.int().nullable(),
  proxy_url: z.string(),
})

export type ShowService = ReturnType<typeof serviceViewer>

/** @param proxyUrl base URL of service calls */
export const serviceViewer = (proxyUrl: () => string) => (listing: PublishedService) => ({
  slug: listing.slug,
  name: listing.name,
  type: 'native' as const,
  category: listing.category,
  summary: listing.summary,
  provider: listing.provider,
  provider_name: listing.providerName,
  endpoint_count: listing.endpointCount,
  price_microdollars: { min: json(listing.minPrice), max: json(listing.maxPrice) },
  free_calls_per_month: listing.freeCallsPerMonth,
  ...(Object.keys(listing.freeUnits).length > 0 && { free_units_per_month: listing.freeUnits }),
  uptime_percentage: listing.uptimePercentage,
  average_latency_ms: listing.averageLatencyMs,
  proxy_url: `${proxyUrl()}/${listing.slug}`,
})
