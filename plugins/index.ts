import type { Plugin } from 'agenthub/plugin'
import analysis from './analysis/index.ts'
import echo from './echo/index.ts'

/** The services on sale. Adding one is adding a line here. */
export const plugins: readonly Plugin[] = [analysis, echo]
