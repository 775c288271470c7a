import type { Middleware } from 'koa'
import type { AnyPage } from './page.ts'
import { type PageRouterDeps, pageRouter } from './page-router.ts'
import { type AccountDeps, accountPages } from './pages/account/index.ts'
import { adminPages } from './pages/admin/index.ts'
import { catalogPage, formerSearchPage } from './pages/catalog.ts'
import { comparePage } from './pages/compare.ts'
import { financePages } from './pages/finance/index.ts'
import { goPage } from './pages/go.ts'
import { type HomeDeps, homePage } from './pages/home.ts'
import { listingPage } from './pages/listing.ts'
import { type ProviderDeps, providerPages } from './pages/provider/index.ts'
import { providerProfilePage } from './pages/provider-profile.ts'
import { type ServiceDeps, servicePage } from './pages/service.ts'
import { type SignInDeps, signInPages } from './pages/sign-in.ts'
import { statusPage } from './pages/status.ts'
import { type TopupDeps, topupPage } from './pages/topup.ts'
import { type TryDeps, tryPage } from './pages/try.ts'
import { unsubscribePage } from './pages/unsubscribe.ts'

export interface WebDeps
  extends PageRouterDeps,
    HomeDeps,
    ServiceDeps,
    TryDeps,
    TopupDeps,
    SignInDeps,
    AccountDeps,
    ProviderDeps {
  readonly clock: Parameters<typeof catalogPage>[0]['clock']
}

/** Every page of the hub, except the docs. */
export const allPages = (deps: WebDeps): readonly AnyPage[] => [
  homePage(deps),
  catalogPage(deps),
  formerSearchPage,
  comparePage(deps),
  goPage(deps),
  servicePage(deps),
  providerProfilePage(deps),
  tryPage(deps),
  listingPage(deps),
  statusPage(deps),
  topupPage(deps),
  ...signInPages(deps),
  unsubscribePage(deps),
  ...accountPages(deps),
  ...providerPages(deps),
  ...financePages(deps),
  ...adminPages(deps),
]

export const webPages = (deps: WebDeps): Middleware => pageRouter(allPages(deps), deps)
