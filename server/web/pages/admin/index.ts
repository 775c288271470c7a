import type { AnyPage } from '../../page.ts'
import { keysPage } from './keys.ts'
import { rolesPage } from './roles.ts'
import { servicesPage } from './services.ts'

/** What administrators decide. Each page asks routes of REST, which know their role. */
export const adminPages = (): readonly AnyPage[] => [servicesPage(), keysPage(), rolesPage()]
