"""Rare programs, as texts: kinds of numbers, keywords, ways through Python, results of every kind.

x is a vector of three, m a matrix of 3 x 3, k two small integers. The other names are in test_rare_programs.py, which
runs each program under af.vmap and af.compile. Two blanks stand between expressions.
"""

EXPRESSIONS = """
    np.einsum("ii",m)  np.einsum("ii->i",m)  np.einsum("ii->i",m).base is None  np.einsum("...i,...i",m,x)
    np.einsum("i...->...i",m)  np.einsum("ij,jk,kl->il",m,m,m,optimize=True)  np.einsum("ij,j",m,x,optimize="greedy")
    np.einsum(m,[0,1],x,[1],[0])  np.einsum(m,[0,0])  np.einsum(m,[0,Ellipsis],[Ellipsis,0])
    np.einsum("ij->j",m,dtype="f4",casting="unsafe")  np.einsum("ij,j->ij",m,x,order="F")
    np.einsum("ij,k->kij",m,x,order="A")  np.einsum("i,i->",x,k[[0,0,1]])  np.einsum("iij->ij",np.stack([m,m,m]))
    np.einsum("i,i,i->i",x,x,x)  np.einsum("i,j",x,x,out=np.zeros((3,3)))  np.einsum("ij,ij->i",m,m,casting="no")
    np.einsum("i->",x,dtype=int,casting="unsafe")  np.einsum("ij->ij",m)  np.einsum(",i",2.0,x)  np.einsum("b,b",x,x)
    np.einsum("i",x)  np.einsum("ji",m)  np.einsum(" i j , j -> i ",m,x)  np.einsum_path("ij,jk",m,m)[0]
    np.tensordot(m,x,1)  np.tensordot(x,x,0)  np.tensordot(m,m,[[0],[1]])  np.tensordot(m,m,axes=([-1],[-2]))
    np.tensordot(np.stack([m,m]),m,2)  np.tensordot(m,x,([1],[0])).base is None  np.vecdot(m,x)  np.vecdot(m,m,axis=0)
    np.matvec(m,x)  np.matvec(np.stack([m,m]),x)  np.vecmat(x,m)  np.matmul(m,m,axes=[(0,1),(1,0),(0,1)])
    np.matmul(m,m,dtype="f4",casting="same_kind")  np.matmul(m,m,order="F")
    np.matmul(np.stack([m,m]),np.stack([m,m])[:,None])  np.matmul(m[None,None],x)  np.matmul(x,np.stack([m,m]))
    np.matmul(m,m,out=np.zeros((3,3)))  np.vecdot(m,m,keepdims=True)  np.vecdot(m+1j,m)  np.linalg.vecdot(m,m)
    np.linalg.matmul(m,m)  np.linalg.tensordot(m,m)  np.linalg.multi_dot([x,m,x])  np.dot(m,x,out=np.zeros(3))
    m.dot(x,np.zeros(3))  np.dot(2,x)  np.inner(2,x)  np.vdot(m,m)  np.kron(x,m)  np.cross(x,m)
    np.add.reduce(m,axis=(0,1),initial=3,where=m>0)  np.multiply.reduce(m,0,initial=2.)
    np.minimum.reduce(m,axis=1,initial=0,where=x>0)  np.maximum.reduce(x[:0],initial=-7)
    np.add.reduce(x,keepdims=True)  np.add.reduce(m,axis=())  np.add.reduce(m,None)
    np.add.accumulate(m,axis=1,dtype="f4")  np.multiply.accumulate(x)  np.maximum.accumulate(m,0)
    np.subtract.accumulate(x)  np.add.reduceat(x,[0,2,1])  np.add.reduceat(m,[0,1],axis=1)  np.multiply.reduceat(x,k)
    np.subtract.outer(x,m)  np.hypot.outer(x,x)  np.add.outer(x,2)  np.multiply.outer(x,x,out=np.zeros((3,3)))
    np.logical_and.reduce(m>0,1)  np.bitwise_xor.reduce(k)  np.gcd.reduce(k)  np.logaddexp.reduce(x)
    np.arctan2.outer(x,x)  np.less.outer(x,x)  np.add(x,1,where=[True,False,True],out=x*0)
    np.sqrt(x,where=x>0,out=x*0-1)  np.add(x,x,dtype="f4")  np.add(x,1,casting="no")  np.true_divide(k,2,dtype="f4")
    np.add(m,m.T,order="F")  np.add(m.T,1,order="C")  np.add(m.T,1)  np.add(m,1,subok=False)  np.frexp(x)
    np.ldexp(x,k[0])  np.modf(x)  np.divmod(x,k[0]+1)  np.float_power(x,2)  np.heaviside(x,.5)  np.nextafter(x,1)
    np.spacing(x)  np.signbit(x)  np.copysign(1,x)  np.ravel(np.r_[x,1,x[0]])  np.c_[x,x]  m[np.ix_([0,2],[1])]
    m[np.ix_(k%3,[0,1])]  np.r_["0,2",x,x]  np.r_[x[0]:3]  np.s_[1:]  np.select([x>1,x<0],[x,-x],default=7)
    np.select([x>1,x<0],[x,-x],default=x[0])  np.choose([0,1,0],[x,-x])  np.choose(x>0,[x,9])
    np.choose(k,[x[:2],x[1:],x[:2]],mode="wrap")  np.piecewise(x,[x<0,x>1],[-1,lambda v:v*2])
    np.piecewise(x,[x<0,x>1],[-1,1,lambda v,a:v*a],3)  np.vectorize(lambda a,b:a+b)(x,2)
    np.vectorize(lambda a:a.sum(),signature="(n)->()")(m)  np.vectorize(math.floor,otypes=[float])(x)
    np.apply_along_axis(np.sum,0,m)  np.apply_along_axis(lambda v:v[::-1],1,m)  np.apply_over_axes(np.sum,m,[0,1])
    np.frompyfunc(lambda a,b:a+b,2,1)(x,x).astype(float)  np.frompyfunc(lambda a:a*2,1,1)(x)
    np.lib.stride_tricks.sliding_window_view(x,2)  np.lib.stride_tricks.broadcast_to(x,(2,3))
    np.broadcast_shapes(x.shape,m.shape)  np.broadcast(x,m).shape  [i for i in np.ndindex(x.shape)]
    np.sum([m[i] for i in np.ndindex(3,3)])  np.stack([v*1. for v in np.nditer(x)])
    [i[0]*v for i,v in np.ndenumerate(x)][1]  np.put_along_axis(x*1,np.array([1]),3,0)
    np.fromfunction(lambda i:x[i.astype(int)],(2,))  np.indices((2,2))*x[0]  np.mgrid[0:2,0:2]*x[0]
    np.ogrid[0:2]*x[0]  np.unravel_index(k,(3,3))  np.ravel_multi_index((k%3,k%3),(3,3))  np.tri(3)*m
    np.triu_indices_from(m)  m[np.tril_indices(3)]  m[np.diag_indices_from(m)]  np.trim_zeros(x)  np.flatnonzero(x>0)
    np.rot90(m,3)  np.roll(m,[1,2],[0,1])  np.require(m.T,requirements="C")  np.copyto(x*1,m[0])  np.shape([x,x])
    np.size(m,0)  np.iterable(x)  np.isscalar(x[0])  np.isscalar(x.sum())  np.ma.mean(x)  np.ma.array(x,mask=x>0).mask
    x.astype("f2").sum()  np.cumsum(x.astype("f2"))  x.astype("f2").mean()  np.mean(x.astype("f2"),dtype="f4")
    x.astype("f2")**2  x.astype("f2")*2.5  x.astype("f2")@x.astype("f2")  x.astype("f4")*np.float64(2)
    x.astype("f4")*2.  np.float32(3)*x  x.astype("g").sum()  x.astype("g")*2  np.exp(x.astype("g"))  x.astype(">f8")*1
    x.astype(">f8")  x.astype(">f8").sum()  x.astype(">f8")[::-1]  np.sort(x.astype(">f4"))
    np.concatenate([x.astype(">f8"),x.astype(">f8")])  x.astype("O")*2  x.astype("O").sum()
    np.add.reduce(x.astype("O"))  x.astype("U5")  np.char.upper(x.astype("U5"))  x.astype("S4")
    np.strings.str_len(x.astype("U9"))  x.astype("M8[s]")  x.astype("m8[s]")*2
    x.astype("m8[s]")/np.timedelta64(1,"m")  (x*1e9).astype("M8[ns]")-np.datetime64(0,"ns")
    np.datetime64("2020-01-01")+k.astype("m8[D]")  k.astype("u1")-k.astype("u1")-np.uint8(1)
    k.astype("u1")*np.uint8(200)  -k.astype("u8")  k.astype("i1")+np.int8(127)  k.astype("u8")-1  k.astype("u8")+k
    k.astype("u1")+300  k.astype("u1")<300  (x>0)+(x<1)  (x>0)*(x<1)  (x>0)-(x<1)  ~(x>0)  -(x>0)  (x>0)*2
    (x>0).sum()  (x>0).mean()  (x>0)@(x>0)  np.cumsum(x>0)  np.prod(x>0)  (x>0)&True  (x>0)^(x<1)  np.add(x>0,x>0)
    np.maximum(x>0,False)  np.sum(x>0,dtype="u1")  np.sort(x>0)  np.diff(x>0)  np.dot(x>0,x)  k//0  k%0  k**-1  k**2
    2**k  np.power(k,k)  k<<1  k>>1  np.invert(k)  k/k  k.astype("i2").sum()  k.astype("i2").mean()
    k.astype("u4").sum()  np.bitwise_count(k)  np.left_shift(k,70)  np.abs(np.int8(-128)*(k.astype("i1")*0+1))
    x.view("i8")  x.view("c16") if 0 else x  x[:2].view("c16")  m.view("u1")  x.astype("c8")  (x+1j).view("f8")
    np.real_if_close(x+0j)  (x+1j).astype("f8")  np.array([x,x],dtype="f4")  np.asarray(x,dtype=complex)
    np.rec.fromarrays([x,x],names="a,b").a  np.zeros(3,"f8,i4")["f0"]+x  x.sum()  x.sum().item()  float(x[0])
    int(x[0])  bool(x[0]>0)  x.tolist()  x.sum().astype("f4")  x[0].dtype  x.shape  x.strides  len(x)  x.nbytes
    x.data.nbytes  None  3  2.5  "text"  (x,None)  [x,[x,1],{"a":x}]  {"b":x,"a":m}  NT(x,1)  NT(x,NT(x,m))  DC(x,2)
    collections.OrderedDict(z=x,a=m)  {1,2}  frozenset([3])  (x,x)  [x]*2  x  m.T  m[0]  x[::-1]  m[:,0]  x[:0]
    x[...]  x[()]  np.broadcast_to(x,(2,3))  True  np.True_  np.float64(3)  np.array(3)  np.array("t")  np.int64(2)
    np.dtype("f4")  range(2)  x.dtype  slice(1)  complex(1)  x[0]  m[0,0]  np.empty((0,3))  ()  []  {}
    operator.add(x,1)  operator.matmul(m,x)  operator.itemgetter(0)(x)  operator.itemgetter(0,1)(x)
    operator.attrgetter("T")(m)  operator.methodcaller("sum",0)(m)  operator.getitem(m,(0,1))  operator.iadd(x*1,2)
    operator.setitem(x*1,0,1)  operator.neg(x)  operator.contains([1],2)  operator.concat([x],[x])
    operator.not_(x.sum())  operator.truth(x[0])  operator.pow(x,2)  operator.floordiv(x,2)  operator.index(k[0])
    functools.partial(np.add,2)(x)  functools.partial(np.sum,axis=0)(m)  functools.reduce(np.add,[x,x,x])
    functools.reduce(operator.mul,x)  sum(x)  max(x)  min(x,key=abs)  sorted(x)  list(map(np.sin,x))  list(zip(x,x))
    dict(enumerate(x))  [*x]  (*x,)  {**{"a":x}}  any(x>0)  all(x>0)  next(iter(x))  list(reversed(x))
    list(itertools.accumulate(x))  list(itertools.chain(x,x))  math.sqrt(abs(x[0]))  math.fsum(x)  math.prod(x)
    round(x[0])  abs(x)  pow(x,2)  pow(x,2,3)  divmod(x,2)  x.__add__(1)  x.__radd__(1)  x.__matmul__(x)
    getattr(x,"sum")()  x.take(k)  x.choose([x,x,x,x]) if 0 else x.repeat(2)  x.searchsorted(1.)  x.put([0],1)
    m.trace()  m.swapaxes(0,1)  x.clip(max=1)  x.argpartition(1)  x.nonzero()  x.cumprod()
    m.std(axis=0,ddof=1,keepdims=True)  np.random.rand(3)*x  np.random.default_rng(3).normal(size=3)*x
    RNG.normal(size=3)*x  random.random()*x  np.random.permutation(x)  np.random.choice(x)  np.random.seed(3)
    np.random.RandomState(3).rand()*x  np.random.default_rng(0).permutation(x)  np.random.default_rng(0).choice(x,2)
    np.random.default_rng(0).normal(x)  np.random.normal(x,1)
"""

BODIES = [
    "try:\n  return np.linalg.inv(m)\n except np.linalg.LinAlgError:\n"
    "  return m*0\n else:\n  return m\n finally:\n  LST.append(1)",
    "try:\n  r = 1/int(x[0]*0)\n except ZeroDivisionError as e:\n  r = len(str(e))\n return x*r",
    "try:\n  x.reshape(7)\n except ValueError as e:\n  return x*len(str(e))",
    "try:\n  x+np.ones(7)\n except ValueError as e:\n  return x*len(str(e))",
    "try:\n  np.linalg.inv(x)\n except np.linalg.LinAlgError as e:\n  return x*len(str(e))",
    "try:\n  x[9]\n except IndexError as e:\n  return x*len(str(e))",
    "try:\n  return x*2\n finally:\n  LST.append(len(LST))",
    "for v in x:\n  try:\n   if v > 0: continue\n   break\n  finally:\n   CNTS['n'] = CNTS.get('n',0)+1\n return x",
    "def g(n):\n  return x if n == 0 else g(n-1)*2\n return g(3)",
    "def g(n, a):\n  if n == 0: return a\n  return g(n-1, a+np.sin(a))\n return g(2, x).sum()",
    "def g():\n  total = 0.\n  while True:\n   v = yield total\n   if v is None: return\n"
    "   total = total + v\n it = g(); next(it)\n return it.send(x)+it.send(x*2)",
    "def g():\n  for v in x: yield v*2\n return np.array(list(g()))", "def g():\n  yield from x\n return sum(g())",
    "t = 1.\n def h():\n  nonlocal t\n  t = t + x.sum()\n h(); h()\n return x*t",
    "fs = []\n for j in range(3): fs.append(lambda: x*j)\n return sum(g() for g in fs)",
    "match k[0]:\n  case 0: return x\n  case 1 | 2: return x*2\n  case _: return -x",
    "match (x.shape, 1):\n  case ((n,), 1) if n == 3: return x*n\n return x",
    "match {'a': x}:\n  case {'a': v}: return v*2", "match [x, m]:\n  case [a, *b]: return a*len(b)",
    "return x*n if (n := len(x)) > 2 else x", "z = [y := 0.0, *[y := y + v for v in x]]\n return np.array(z)",
    "return np.array([y for v in x if (y := v*2) is not None])", "return x*Cache.get(3)",
    "Cache.items['x'] = x.shape; r = Cache.items['x'][0]; del Cache.items['x']\n return x*r",
    "Cache.count += 1\n return x*2", "LST.append(1)\n return x*len(LST)", "LST.append(1); LST.pop()\n return x*2",
    "DCT['k'] = DCT.get('k', 0)+1\n return x*2", "DCT.setdefault('w', 5.)\n return x*DCT['w']",
    "global CNT\n CNT += 1\n return x*2", "OBJ.n += 1\n return x*2", "OBJ.x = x\n r = OBJ.x*2\n del OBJ.x\n return r",
    "p = DC(x, 1); p.b = 2; p.a = p.a*p.b\n return p.a",
    "p = DC(x, 1); q = dataclasses.replace(p, b=3)\n return q.a*q.b", "return dataclasses.astuple(DC(x*2, 1))",
    "return dataclasses.asdict(DC(x*2, m))", "[LST.append(v) for v in range(2)]\n return x", "x[0] = 5\n return x",
    "x += 1\n return x", "x[1:] *= 2\n return x.sum()", "m[0] = x\n return m", "m[:,0] += x\n return m",
    "v = m[1:]; v[0] = 3\n return m*1", "x.sort()\n return x", "x.fill(3)\n return x", "np.add(x,1,out=x)\n return x*2",
    "z = x*1; np.add.at(z,[0,0],[1.,2.])\n return z", "z = x*1; np.multiply.at(z,k%3,2.)\n return z",
    "z = x*1; np.negative.at(z,[0,1])\n return z", "z = m*1; np.add.at(z,(k%3,[0,1]),1)\n return z",
    "z = m*1; np.add.at(z,(slice(None),[0]),x[:,None])\n return z", "z = x*1; np.maximum.at(z,[0],9.)\n return z",
    "z = x*1; r = np.add.at(z,0,1.)\n return r", "np.add.at(BUF,[0,0],1.)\n return x*BUF[0]",
    "np.multiply.at(BUF,(k%3,),2.)\n return x*BUF",
    "z = m*1; np.put_along_axis(z,np.argsort(m,1)[:,:1],0.,1)\n return z", "z = x*1; z.put([0,2],[7,8])\n return z",
    "z = x*1; z.flat[::2] = 1\n return z", "z = x*1; z.itemset if hasattr(z,'itemset') else None\n return z",
    "z = m*1; z[...,0] = x; z[1,:] -= x\n return z", "z = m*1; z[m>0] *= -1\n return z",
    "z = x*1; z[:] = [v for v in x[::-1]]\n return z",
    "z = [0]*3\n for j in range(3): z[j] = x[j]*j\n return np.array(z)",
    "z = [0]*3\n for j in range(3): z[j] = x[j]*j\n return z",
    "z = np.zeros(3)\n for j in range(3): z[j] = x[j]*j\n return z", "z = np.zeros((3,3)); z[1] = x\n return z",
    "z = np.empty(3, dtype=object)\n for j in range(3): z[j] = x[j]\n return z.sum()",
    "z = np.zeros(3, dtype=int); z[:] = x\n return z", "z = np.zeros(3, dtype='f4'); z += x\n return z",
    "z = np.zeros(3, dtype=[('a','f8'),('b','i4')]); z['a'] = x; z['b'] = 2\n return z",
    "z = np.zeros(3, dtype=[('a','f8'),('b','i4')]); z['a'] = x\n return z['a']*2",
    "z = np.array([(1.,2),(3.,4)], dtype=[('a','f8'),('b','i4')])\n return z['a']*x[0]",
    "z = x.astype('f2')\n for _ in range(4): z = z+z.sum()\n return z",
    "z = np.float16(0)\n for v in x.astype('f2'): z += v\n return z", "z = k.astype('u1')\n z -= 3\n return z",
    "z = k*1; z /= 2\n return z", "z = k*1; z += 1.5\n return z", "z = x > 0; z &= x < 1; z |= True\n return z",
    "z = x > 0; z += 1\n return z",
    "it = np.nditer(x, flags=['multi_index'])\n s = 0.\n for v in it: s = s+v*it.multi_index[0]\n return s",
    "with np.nditer([x, None]) as it:\n  for a, b in it: b[...] = a*2\n  return it.operands[1]",
    "z = x*1\n with np.nditer(z, op_flags=['readwrite']) as it:\n  for v in it: v[...] = v*2\n return z",
    "s = 0\n for i, j in np.ndindex(3, 3): s = s+m[i,j]*(i-j)\n return s",
    "@np.errstate(all='ignore')\n def g(a): return 1/(a*0)\n return g(x)",
    "@np.errstate(all='raise')\n def g(a): return 1/(a*0)\n try: return g(x)\n except FloatingPointError: return x*7",
    "with np.errstate(divide='ignore', invalid='ignore'):\n  return np.where(x > 0, 1/x, 0)",
    "@np.vectorize\n def g(a): return a if a > 0 else -a\n return g(x)",
    "@functools.lru_cache\n def g(n): return n*2\n return x*g(2)+g(2)",
    "@functools.cache\n def g(a): return a*2\n return g(x[0])",
    "@functools.singledispatch\n def g(a): return a*2\n @g.register\n def _(a: np.ndarray): return a*3\n return g(x)",
    "@contextlib.contextmanager\n def c(v):\n  yield v*2\n with c(x) as w: return w",
    "with contextlib.ExitStack() as st:\n  st.callback(LST.append, 3)\n  return x*2",
    "class C:\n  def __init__(s, a): s.a = a\n  def __call__(s, b): return s.a*b\n return C(x)(2)",
    "class C:\n  def __add__(s, o): return 5\n  __array_ufunc__ = None\n"
    "  def __radd__(s, o): return 7\n return x*(x+C())",
    "class C:\n  def __array__(s, dtype=None, copy=None): return np.ones(3)\n return x+C()",
    "class C:\n  def __len__(s): return 3\n  def __getitem__(s, j): return [1.,2.,3.][j]\n return x+C()",
    "class C(float): pass\n return x*C(2)", "class C:\n  def __index__(s): return 1\n return x[C()]",
    "class C:\n  def __float__(s): return 2.\n return np.add(x, float(C()))",
    "import fractions\n return x*float(fractions.Fraction(1,2))",
    "import decimal\n return x*float(decimal.Decimal('2'))", "a, (b, c) = x[0], (x[1], x[2])\n return a+b*c",
    "a = b = x*1; a += 1\n return b", "a = x*1; b = a; b = b+1\n return a", "a = x*1; b = a[:]; a[0] = 3\n return b",
    "a = m*1; a[0], a[1] = a[1].copy(), a[0].copy()\n return a", "a = m*1; a.T[0] = 5\n return a, a.T",
    "a = x*1; r = [a, a]; a[0] = 9\n return r", "a = x*1\n return a, a[1:], a", "return x, x, x[1:]",
    "z = x*2\n del z\n return x", "assert x.shape == (3,), 'shape'\n return x",
    "assert x[0] > 100, f'{x.shape}'\n return x", "raise ValueError(f'bad {x.shape}')", "raise KeyError('k')",
    "raise StopIteration(3)",
    "class Mine(Exception): pass\n try:\n  raise Mine(x)\n except Mine as e: return e.args[0]*2",
    "try:\n  raise ExceptionGroup('g', [ValueError(1)])\n except* ValueError: z = x*3\n return z",
    "try:\n  try: x[7]\n  except IndexError as e: raise RuntimeError('r') from e\n"
    " except RuntimeError as e: return x*len(type(e.__cause__).__name__)",
    "return np.linalg.solve(m, x)[np.newaxis].repeat(2, axis=0)",
    "n = 0\n while n < 3:\n  n += 1\n  if n == 2: continue\n else: n = 10\n return x*n",
    "n = 0\n while x.sum()*n < 100 and n < 5: n += 1\n return x*n",
    "for j in range(3):\n  if x[j] > 1e9: break\n else: return x*5\n return x", "return np.where(x > 0, x, np.nan)",
    "return [x[j] for j in np.argsort(x)]", "return x[np.argsort(-x)][:2]", "return m[np.argmax(m,0), np.arange(3)]",
    "return x[k[0]:]", "return x[:int(k[0])]", "return x*k[0]+m[k[0], k[1]]", "return np.zeros(k[0])",
    "return x[None, k]", "i = k.tolist(); return x[i]", "return m[k][:, k]", "return m[k, :][..., ::-1]",
    "z = m*1; z[k] = x; return z", "z = m*1; z[k, k] += 1; return z", "z = x*1; z[k] += 1; return z",
    "return np.bincount(k, x[:2], 4)", "return af.grad(lambda a: np.sum(a**3))(x)",
    "return af.value_and_grad(lambda a: np.sum(a**3))(x)", "return af.vmap(lambda r: r*2)(m)",
    "return af.compile(lambda r: r*2)(x)", "return af.jacobian(np.sin)(x)",
    "def g(l): l.append(1); return np.sum(l[0]**2)\n L = [x]; r = af.grad(g)(L)\n return r, len(L)",
    "v = af.Variable(x); (v*v).sum().backward()\n return v.grad", "return np.asarray(af.Variable(x)*2)",
    "with af.no_grad(): return x*2", "return ufuncs['sin'](x)", "return DEFAULT(x)", "return METH.scale(x)",
    "return PART(x)", "return f2(x)", "return x*OBJ.n", "return x*LST[0]+len(DCT)", "return BUF*x[0]", "return BUF",
    "return BUF[0]", "BUF[0] = 3\n return x*BUF[0]", "return BUF.view()+0*x[:1]", "return [BUF, x]",
    "return x.copy(order='F'), m.copy(order='F'), m.T.copy(order='K')",
    "return np.array(m.T), np.array(m.T, order='C'), np.array(m, copy=True, ndmin=3)",
    "return np.asfortranarray(m), np.ascontiguousarray(m.T)",
    "return np.full((2,3), x, order='F'), np.full(3, x[0]), np.full_like(m, 2, dtype=int)",
]  # fmt: skip
