import { selectFilter } from '../../form.ts'
import type { Html } from '../../html.ts'

/** Services that the filter offers. */
const MAX_OPTIONS = 200

/** Filter by one of the provider's services. @param all option for all of them, if there is one */
export function apiFilter(services: readonly string[], chosen: string, all?: string): Html {
  const offered = new Set([...services.slice(0, MAX_OPTIONS), chosen].filter(Boolean))
  const options = Object.fromEntries([...offered].toSorted().map((slug) => [slug, slug]))
  return selectFilter(
    'service',
    'API',
    { ...(all !== undefined && { '': all }), ...options },
    chosen,
  )
}
