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
import { normalizeEmail } from '#shared/platform/formats/text.ts'
import type { Role } from '#shared/platform/identity/caller.ts'
import { tenantPattern } from '#shared/platform/table/keys.ts'
import { type DeployedStack, outputOf } from '../stack/deployment.ts'
import { operatorOn } from '../stack/operator.ts'
import { auditOfOperator, type Operator } from '../stack/operator-audit.ts'

/** The user pool, and the operator who changes it. */
interface UserStore {
  cognito: CognitoIdentityProviderClient
  poolId: string
  operator: Operator
}

interface UserRequest {
  email: string
  tenant?: string | undefined
  role?: Role | undefined
  password?: string | undefined
}

export async function userStore(stack: DeployedStack): Promise<UserStore> {
  const cognito = new CognitoIdentityProviderClient(stack.access)
  return { cognito, poolId: outputOf(stack, 'UserPoolId'), operator: await operatorOn(stack) }
}

/** Creates or changes the user of an e-mail address. @throws Error with one sentence if the request is invalid */
export async function changeUser(
  request: UserRequest,
  store: UserStore,
): Promise<PoolUser & { created: boolean }> {
  const { tenant, role, password } = request
  const email = normalizeEmail(request.email)
  if (email === undefined) throw new Error(`${request.email} is not an e-mail address`)
  const known = await findUser(email, store)
  if (known && tenant !== undefined && tenant !== known.tenant)
    throw new Error(`a user stays in the tenant they were created in: ${known.tenant}`)
  if (known && password !== undefined) await setPassword(email, password, store)
  const user = known ?? (await createUser({ ...request, email }, store))
  if (role && role !== user.role) await changeRole(email, user, role, store)
  return { ...user, role: role ?? user.role, created: !known }
}

async function findUser(Username: string, store: UserStore): Promise<PoolUser | undefined> {
  try {
    const command = new AdminGetUserCommand({ UserPoolId: store.poolId, Username })
    return userWith((await store.cognito.send(command)).UserAttributes)
  } catch (thrown) {
    if ((thrown as Error).name === 'UserNotFoundException') return undefined
    throw thrown
  }
}

/** Creates a user without a role, who has no permissions yet. If the pool rejects the password, the user is deleted. */
async function createUser(request: UserRequest, store: UserStore): Promise<PoolUser> {
  const { email, tenant, role, password } = request
  if (tenant === undefined || role === undefined || password === undefined)
    throw new Error('there is no such user: to create one, add a tenant, a role and a password')
  if (!tenantPattern.test(tenant)) throw new Error(`the tenant does not match ${tenantPattern.source}`)
  const key = { UserPoolId: store.poolId, Username: email }
  const UserAttributes = [
    { Name: 'email', Value: email },
    { Name: 'email_verified', Value: 'true' },
    { Name: `custom:${userAttributes.tenant}`, Value: tenant },
  ]
  const { User } = await store.cognito.send(
    new AdminCreateUserCommand({ ...key, UserAttributes, MessageAction: 'SUPPRESS' }),
  )
  await setPassword(email, password, store).catch(async (thrown) => {
    await store.cognito.send(new AdminDeleteUserCommand(key))
    throw thrown
  })
  return userWith(User?.Attributes)
}

async function setPassword(Username: string, Password: string, store: UserStore): Promise<void> {
  const key = { UserPoolId: store.poolId, Username }
  await store.cognito.send(new AdminSetUserPasswordCommand({ ...key, Password, Permanent: true }))
}

/** Changes a role. The audit record is written first: no role is effective without one. */
async function changeRole(Username: string, user: PoolUser, role: Role, store: UserStore): Promise<void> {
  const { sub, tenant } = user
  if (tenant === undefined) throw new Error('this user belongs to no tenant')
  const change = { before: { role: user.role ?? null }, after: { role } }
  const audited = { action: 'role.change', target: `user/${sub}`, ...change }
  await store.operator.table.put(auditOfOperator(store.operator, tenant, audited))
  const UserAttributes = [{ Name: `custom:${userAttributes.role}`, Value: role }]
  const key = { UserPoolId: store.poolId, Username }
  await store.cognito.send(new AdminUpdateUserAttributesCommand({ ...key, UserAttributes }))
}

function userWith(attributes: AttributeType[] = []): PoolUser {
  return userOf(Object.fromEntries(attributes.map(({ Name = '', Value }) => [Name, Value])))
}
