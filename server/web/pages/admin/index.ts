import type { AnyPage } from '../../page.ts'
import { keysPage } from './keys.ts'
import { rolesPage } from './roles.ts'
import { servicesPage } from './services.ts'

/** Pages of administrators. The REST routes they call check the role. */
export const adminPages = (): readonly AnyPage[] => [servicesPage(), keysPage(), rolesPage()]
