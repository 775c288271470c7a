import type { SearchPorts } from '../../rest/catalog/search.ts'
import type { AnyTool } from '../tool.ts'
import { type BalancePorts, balanceTool } from './balance.ts'
import { type CallPorts, callTool, contentTool, externalCallTool } from './calls.ts'
import { externalsTool } from './externals.ts'
import { serviceTool } from './service.ts'
import { listTool, searchTool } from './services.ts'
import { type TopupPorts, topupTool } from './topup.ts'

export type HubToolPorts = CallPorts & SearchPorts & BalancePorts & TopupPorts

/** The tools of the hub (specification §4.2), in the order in which they are listed. */
export const hubTools = (ports: HubToolPorts): readonly AnyTool[] => [
  searchTool(ports),
  listTool(ports.pool),
  serviceTool(ports.pool),
  callTool(ports),
  externalsTool(ports),
  externalCallTool(ports),
  contentTool(ports),
  topupTool(ports),
  balanceTool(ports),
]
