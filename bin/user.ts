import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import {
  AdminCreateUserCommand,
  AdminDeleteUserCommand,
  AdminGetUserCommand,
  AdminSetUserPasswordCommand,
  AdminUpdateUserAttributesCommand,
  type AttributeType,
  CognitoIdentityProviderClient,
} from '@aws-sdk/client-cognito-identity-provider'
import { type PoolUser, userAttributes, userOf } from '#shared/login/token-claims.ts'
import { systemClock } from '#shared/platform/base/clock.ts'
import { normalizeEmail } from '#shared/platform/formats/text.ts'
import { type Role, roles } from '#shared/platform/identity/caller.ts'
import type { Table } from '#shared/platform/table/table.ts'
import { tenantPattern } from '#shared/settings/register/authentication.ts'
import { needed, run } from './command.ts'
import { type DeployedStack, deployedStack, openTable, outputOf, stackUsage } from './deployment.ts'
import { auditOfOperator } from './operator.ts'

const usage = `usage: npm run -s user -- --email E --tenant T --role R --password-stdin [--stack NAME]
Creates a user, or changes the role or the password of an existing one, and prints who it is. A role is in the audit
before it counts. --password-stdin reads the password from standard input; --password P is for the local run only.
${stackUsage}`

/** The stores of users and of the audit. */
export interface UserStore {
  cognito: CognitoIdentityProviderClient
  poolId: string
  table: Table
}

export interface UserRequest {
  email: string
  tenant?: string | undefined
  role?: string | undefined
  password?: string | undefined
}

export interface UserChanged extends PoolUser {
  created: boolean
}

/**
 * Creates or changes the user of an e-mail.
 * @throws Error with one sentence if the request is invalid
 */
export async function changeUser(request: UserRequest, store: UserStore): Promise<UserChanged> {
  const email = normalizeEmail(request.email)
  if (email === undefined) throw new Error(`${request.email} is no e-mail address`)
  const role = roles.find((one) => one === request.role)
  if (request.role !== undefined && !role) throw new Error(`a role is one of ${roles.join(', ')}`)
  const found = await findUser(email, store)
  const user = found ?? (await createUser(email, request, store))
  if (found && request.tenant !== undefined && request.tenant !== found.tenant) {
    throw new Error('a user stays in the tenant that they were made for')
  }
  if (found && request.password !== undefined) await setPassword(email, request.password, store)
  if (role && role !== user.role) await changeRole(email, user, role, store)
  return { ...user, role: role ?? user.role, created: !found }
}

async function findUser(email: string, { cognito, poolId }: UserStore): Promise<PoolUser | undefined> {
  const command = new AdminGetUserCommand({ UserPoolId: poolId, Username: email })
  const found = await cognito.send(command).catch((thrown: Error) => {
    if (thrown.name === 'UserNotFoundException') return undefined
    throw thrown
  })
  return found && userOf(recordOf(found.UserAttributes))
}

/** Creates a user without a role, who has no permissions yet. If the pool rejects the password, the user is deleted. */
async function createUser(
  email: string,
  { tenant, role, password }: UserRequest,
  store: UserStore,
): Promise<PoolUser> {
  if (tenant === undefined || role === undefined || password === undefined) {
    throw new Error('there is no such user: to make one, a tenant, a role and a password are needed')
  }
  if (!tenantPattern.test(tenant)) throw new Error(`a tenant looks like ${tenantPattern.source}`)
  const { cognito, poolId: UserPoolId } = store
  const attributes = { email, email_verified: 'true', [`custom:${userAttributes.tenant}`]: tenant }
  const UserAttributes = Object.entries(attributes).map(([Name, Value]) => ({ Name, Value }))
  const { User } = await cognito.send(
    new AdminCreateUserCommand({ UserPoolId, Username: email, UserAttributes, MessageAction: 'SUPPRESS' }),
  )
  await setPassword(email, password, store).catch(async (thrown) => {
    await cognito.send(new AdminDeleteUserCommand({ UserPoolId, Username: email }))
    throw thrown
  })
  return userOf(recordOf(User?.Attributes))
}

async function setPassword(Username: string, Password: string, { cognito, poolId }: UserStore) {
  await cognito.send(
    new AdminSetUserPasswordCommand({ UserPoolId: poolId, Username, Password, Permanent: true }),
  )
}

/** Changes a role. The audit record is written first: no role is effective without one. */
async function changeRole(email: string, user: PoolUser, role: Role, store: UserStore): Promise<void> {
  const { cognito, poolId, table } = store
  const { sub, tenant } = user
  if (tenant === undefined) throw new Error('this user belongs to no tenant')
  const change = { before: { role: user.role ?? null }, after: { role } }
  const entry = { action: 'role.change', target: `user/${sub}`, ...change }
  await table.put(auditOfOperator(tenant, entry, systemClock))
  const UserAttributes = [{ Name: `custom:${userAttributes.role}`, Value: role }]
  await cognito.send(
    new AdminUpdateUserAttributesCommand({ UserPoolId: poolId, Username: email, UserAttributes }),
  )
}

function recordOf(attributes: AttributeType[] = []): Record<string, string | undefined> {
  return Object.fromEntries(attributes.map(({ Name = '', Value }) => [Name, Value]))
}

/** Opens the users and the table of a deployment. */
function storeOf(stack: DeployedStack): UserStore {
  const cognito = new CognitoIdentityProviderClient(stack.access)
  return { cognito, poolId: outputOf(stack, 'UserPoolId'), table: openTable(stack) }
}

/**
 * Returns the password in the options, if there is one. Other users of the machine see the arguments of a command, and
 * the shell keeps them in its history.
 * @throws Error for a password among the arguments of a command on a deployed stack
 */
export async function passwordOf(
  options: {
    password?: string | undefined
    'password-stdin'?: boolean | undefined
    stack?: string | undefined
  },
  input: AsyncIterable<Buffer | string>,
): Promise<string | undefined> {
  if (options.password !== undefined && options.stack !== undefined) {
    throw new Error('a password on the command line is visible to others: use --password-stdin')
  }
  if (!options['password-stdin']) return options.password
  const password = (await text(input)).replace(/\r?\n$/, '')
  if (password === '') throw new Error('standard input holds no password')
  return password
}

async function main(): Promise<void> {
  const string = { type: 'string' } as const
  const flag = { type: 'boolean' } as const
  const named = { email: string, tenant: string, role: string, password: string, stack: string }
  const { values } = parseArgs({ options: { ...named, 'password-stdin': flag } })
  const { email, tenant, role, stack } = values
  const password = await passwordOf(values, process.stdin)
  const store = storeOf(await deployedStack(stack))
  const request = { email: needed(email, 'email'), tenant, role, password }
  console.log(JSON.stringify(await changeUser(request, store)))
}

if (import.meta.main) await run(usage, main)
