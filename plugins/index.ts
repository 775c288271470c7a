import type { Plugin } from 'agenthub/plugin'
import analysis from './analysis/index.ts'
import content from './content/index.ts'
import echo from './echo/index.ts'
import external from './external/index.ts'
import tenders from './tenders/index.ts'
import upstream from './upstream/index.ts'

/** Plugins on sale. To add one, add a line here. */
export const plugins: readonly Plugin[] = [analysis, echo, tenders]

/** First-party plugins with privileged capabilities: the spend wallet, domains, upstreams. */
export const privileged: readonly Plugin[] = [external, content, upstream]
