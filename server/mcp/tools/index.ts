import type { KeyAccountDeps } from '../../rest/account/key-account.ts'
import type { SearchDeps } from '../../rest/catalog/search.ts'
import type { AnyTool } from '../tool.ts'
import { balanceTool } from './balance.ts'
import { externalSearchTool } from './external-search.ts'
import { callTool, contentTool, externalCallTool, type PaidToolDeps } from './paid-tools.ts'
import { serviceTool } from './service.ts'
import { listTool, searchTool } from './services.ts'
import { type TopupDeps, topupTool } from './topup.ts'

export type HubToolDeps = PaidToolDeps & SearchDeps & KeyAccountDeps & TopupDeps

/** Tools of the hub, in the order of `tools/list`. */
export const hubTools = (deps: HubToolDeps): readonly AnyTool[] => [
  searchTool(deps),
  listTool(deps.pool),
  serviceTool(deps),
  callTool(deps),
  externalSearchTool(deps),
  externalCallTool(deps),
  contentTool(deps),
  topupTool(deps),
  balanceTool(deps),
]
