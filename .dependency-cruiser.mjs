/** Dependencies point one way: bin → lib → registries → shared, and functions → shared. */
const runtime = '^(functions|shared)/'
/** The adapters: the only files of the running service that know the AWS SDK. */
const adapters = '^(shared/platform/aws/[^/]+|shared/login/cognito-provider)\\.ts$'

export default {
  forbidden: [
    {
      name: 'no-circular',
      severity: 'error',
      from: {},
      to: { circular: true, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-circular-types',
      severity: 'error',
      from: { pathNot: '^test/' },
      to: { circular: true },
    },
    {
      name: 'no-circular-folders',
      severity: 'error',
      scope: 'folder',
      from: { path: '^shared/' },
      to: { circular: true },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: {},
      // The site serves the script of Scalar under this name (bin/describe/reference/site.ts).
      to: { couldNotResolve: true, pathNot: '^\\./scalar\\.js$' },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: ['^functions/.*/handler\\.ts$', '^test/', '^bin/'] },
      to: {},
    },
    {
      name: 'shared-stands-alone',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: '^(functions|lib|bin|test)/' },
    },
    {
      name: 'functions-know-shared-only',
      severity: 'error',
      from: { path: '^functions/' },
      to: { path: '^(lib|bin|test)/' },
    },
    {
      name: 'lib-knows-no-handler',
      severity: 'error',
      from: { path: '^lib/' },
      to: { path: '(^functions/.*/handler\\.ts$)|^(bin|test)/' },
    },
    {
      name: 'builds-and-descriptions-know-no-command',
      severity: 'error',
      from: { path: '^bin/(build|describe)/' },
      to: { path: '^bin/(cli|commands|local)/' },
    },
    {
      name: 'nothing-knows-the-tests',
      severity: 'error',
      from: { path: '^(bin|lib|functions|shared)/' },
      to: { path: '^test/' },
    },
    {
      name: 'the-client-stands-alone',
      severity: 'error',
      from: { path: '^client/' },
      to: { path: '^(bin|lib|functions|shared|test)/' },
    },
    {
      name: 'the-service-knows-no-client',
      severity: 'error',
      from: { path: '^(bin|lib|functions|shared)/' },
      to: { path: '^client/' },
    },
    {
      name: 'no-infrastructure-at-run-time',
      severity: 'error',
      from: { path: runtime },
      to: { path: 'node_modules/(aws-cdk-lib|constructs|cdk-nag)' },
    },
    {
      name: 'only-adapters-know-the-sdk',
      severity: 'error',
      from: { path: runtime, pathNot: adapters },
      to: { path: 'node_modules/(@aws-sdk|@smithy)/' },
    },
    {
      name: 'middy-in-one-file',
      severity: 'error',
      from: { path: runtime, pathNot: '^shared/platform/aws/http-function\\.ts$' },
      to: { path: 'node_modules/@middy/' },
    },
    {
      name: 'no-development-packages-at-run-time',
      severity: 'error',
      from: { path: runtime },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: 'node_modules/@types/',
      },
    },
    {
      name: 'the-platform-knows-no-area',
      severity: 'error',
      from: { path: '^shared/platform/' },
      to: { path: '^shared/(?!platform/|settings/|error-catalog)' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^client/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
      extensions: ['.ts', '.mjs', '.js', '.d.ts'],
      mainFields: ['module', 'main', 'types'],
    },
  },
}
