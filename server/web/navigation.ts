/** Group of pages that share a tab bar. */
export interface TabGroup {
  readonly label: string
  /** Paths by tab name. */
  readonly pages: Readonly<Record<string, string>>
}

export const MAIN_LINKS = {
  Search: '/search',
  Services: '/services',
  Status: '/status',
  Docs: '/docs',
  Account: '/account',
}

export const DOCS_TABS: TabGroup = {
  label: 'Docs',
  pages: {
    'API reference': '/docs',
    'For agents': '/docs/agents',
    'For providers': '/docs/providers',
    'For finance': '/docs/finance',
    'For operators': '/docs/operations',
    Webhooks: '/docs/webhooks',
    'Error codes': '/docs/problems',
  },
}

export const ACCOUNT_TABS: TabGroup = {
  label: 'Account',
  pages: {
    Overview: '/account',
    Keys: '/account/keys',
    History: '/account/history',
    Documents: '/account/documents',
    Webhooks: '/account/webhooks',
    Wallets: '/account/wallets',
    Sessions: '/account/sessions',
    Selling: '/provider',
  },
}

export const SELLING_TABS: TabGroup = {
  label: 'Selling',
  pages: {
    Overview: '/provider',
    APIs: '/provider/services',
    Domains: '/provider/domains',
    Statistics: '/provider/statistics',
    Payouts: '/provider/payouts',
    Buying: '/account',
  },
}

export const FINANCE_TABS: TabGroup = {
  label: 'Finance',
  pages: {
    Overview: '/finance',
    Reports: '/finance/reports',
    'ETH and gas': '/finance/conversion',
    Documents: '/finance/documents',
    'Trial balance': '/finance/trial-balance',
    Journal: '/finance/journal',
    Adjustments: '/finance/adjustments',
    Receivables: '/finance/receivables',
    'Unusable credits': '/finance/unusable-credits',
    Transfers: '/finance/transfers',
    Exceptions: '/finance/exceptions',
    Payments: '/finance/payments',
    Periods: '/finance/periods',
    Exports: '/finance/exports',
    'Audit log': '/finance/audit',
    Administration: '/admin',
  },
}

export const ADMIN_TABS: TabGroup = {
  label: 'Administration',
  pages: {
    Services: '/admin',
    Keys: '/admin/keys',
    Roles: '/admin/roles',
    'Access review': '/admin/access',
    Retention: '/admin/retention',
    'Audit log': '/finance/audit',
    Finance: '/finance',
  },
}
