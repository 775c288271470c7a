import type { Middleware } from 'koa'
import type { AnyPage } from './page.ts'
import { type AccountPorts, accountPages } from './pages/account/index.ts'
import { adminPages } from './pages/admin/index.ts'
import { financePages } from './pages/finance/index.ts'
import { type HomePorts, homePage } from './pages/home.ts'
import { listingPage } from './pages/listing.ts'
import { type ProviderPorts, providerPages } from './pages/provider/index.ts'
import { searchPage } from './pages/search.ts'
import { type ServicePorts, servicePage } from './pages/service.ts'
import { servicesPage } from './pages/services.ts'
import { type SignInPorts, signInPages } from './pages/sign-in.ts'
import { statusPage } from './pages/status.ts'
import { type TopupPorts, topupPage } from './pages/topup.ts'
import { type WebPorts, webDoor } from './serve-page.ts'

export interface WebParts
  extends WebPorts,
    HomePorts,
    ServicePorts,
    TopupPorts,
    SignInPorts,
    AccountPorts,
    ProviderPorts {
  readonly clock: Parameters<typeof searchPage>[0]['clock']
}

/** All pages. */
export const pagesOf = (parts: WebParts): readonly AnyPage[] => [
  homePage(parts),
  searchPage(parts),
  servicesPage(parts),
  servicePage(parts),
  listingPage(parts),
  statusPage(parts),
  topupPage(parts),
  ...signInPages(parts),
  ...accountPages(parts),
  ...providerPages(parts),
  ...financePages(parts),
  ...adminPages(),
]

/** What people see of the hub in a browser. */
export const web = (parts: WebParts): Middleware => webDoor(pagesOf(parts), parts)
