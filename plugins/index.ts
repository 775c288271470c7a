import type { Plugin } from 'agenthub/plugin'
import analysis from './analysis/index.ts'
import content from './content/index.ts'
import echo from './echo/index.ts'
import external from './external/index.ts'
import tenders from './tenders/index.ts'
import upstream from './upstream/index.ts'

/** The services on sale. Adding one is adding a line here. */
export const plugins: readonly Plugin[] = [analysis, echo, tenders]

/** The house's own, which are lent what others are not: the wallet that pays sellers, domains. */
export const privileged: readonly Plugin[] = [external, content, upstream]
