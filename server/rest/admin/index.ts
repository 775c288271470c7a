import type { AnyRoute } from '../route.ts'
import { type AuditPorts, auditRoutes } from './audit.ts'
import { commissionAdminRoutes } from './commission.ts'
import { type KeyAdminPorts, keyAdminRoutes } from './keys.ts'
import { providerAdminRoutes } from './providers.ts'
import { type RolePorts, roleRoutes } from './roles.ts'
import { type ServiceAdminPorts, serviceAdminRoutes } from './services.ts'

/** What administrators see and decide. */
export const adminRoutes = (
  ports: RolePorts & KeyAdminPorts & ServiceAdminPorts & AuditPorts,
): readonly AnyRoute[] => [
  ...keyAdminRoutes(ports),
  ...roleRoutes(ports),
  ...serviceAdminRoutes(ports),
  ...commissionAdminRoutes(ports),
  ...providerAdminRoutes(ports),
  ...auditRoutes(ports),
]
