import { type AuditPorts, auditRoutes } from './admin-audit.ts'
import { commissionAdminRoutes } from './admin-commission.ts'
import { providerAdminRoutes } from './admin-providers.ts'
import { type RolePorts, roleRoutes } from './admin-roles.ts'
import { type ServiceAdminPorts, serviceAdminRoutes } from './admin-services.ts'
import { type KeyAdminPorts, keyAdminRoutes } from './keys-admin.ts'
import type { AnyRoute } from './route.ts'

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
