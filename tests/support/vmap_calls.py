"""What a function under af.vmap may do, as texts: for the differential test against a loop over the examples.

x, y are examples of shape (3, 4), m of shape (3, 3), i of two integers; s is an array like x that all examples share.
BUF, LST, DCT, RNG, OBJ, CNT, TRUE and ITR are outside. Two blanks stand between expressions.
"""

# Into z, a copy of x.
WRITES = """
    z.fill(7.)  z.sort(0)  z.partition(1,axis=1)  np.copyto(z,s)  np.copyto(z,z[::-1])  np.copyto(z,s,where=x>0)
    np.exp(x,out=z)  np.sum(x,0,where=x>0,out=z[0])  np.nansum(x,0,where=x>0,out=z[0])
    np.add.reduce(x,0,where=x>0,out=z[0])  np.mean(x,axis=0,out=z[0])  np.concatenate([x[:2],s[2:]],out=z)
    np.add.at(z,[0,0,2],x)  np.negative.at(z,[1])  np.put_along_axis(z,np.argsort(s,0)[:2],x[:2],0)  z **= 2
    z[x>0] = 1.  np.matmul(x,s.T,out=z[:,:3])
"""

EXPRESSIONS = """
    x+y  x+s  2-x  x/(y+9)  x//3  x%3  x**2  abs(x)**1.5  x@y.T  x<y  -x  np.sin(x)  np.exp(x)  np.maximum(x,y)
    np.hypot(x,s)  np.where(x>0,x,y)  np.where(x>0,s,0.)  np.clip(x,-1,1)  x.clip(-1,2)  np.isclose(x,y)
    np.nan_to_num(x)  np.round(x,1)  np.real(x)  np.imag(x)  np.sinc(x)  np.divmod(x,3)  np.modf(x)  np.frexp(x)
    np.add.outer(x,y)  np.add(x,1,where=x>0,out=np.zeros_like(x))  np.add.reduce(x)  np.maximum.reduce(x,axis=1)
    np.add.accumulate(x,1)  np.add.reduceat(x,[0,2],1)  np.sum(x)  x.sum(0)  x.sum(-1,keepdims=True)  x.sum((0,1))
    x.sum(keepdims=True)  np.sum(x,where=x>0)  np.sum(x,1,where=np.array([True,False,True,True]))  np.prod(x)
    x.max()  np.max(x,1)  np.min(x,axis=0)  x.mean()  np.mean(x,1)  x.var(ddof=1)  np.std(x,0)  (x>0).any()
    (x>0).all(0)  np.median(x)  np.median(x,1,keepdims=True)  np.nansum(x,0)  np.nanmax(x)  np.nanmean(x,1)
    np.count_nonzero(x>0)  np.count_nonzero(x>0,axis=1)  np.ptp(x,0)  np.argmax(x)  x.argmax(1)
    np.argmin(x,keepdims=True)  np.argmin(x,1,keepdims=True)  np.nanargmax(x,0)  np.average(x)
    np.average(x,axis=1,weights=np.arange(1,5.))  np.average(x,weights=abs(y)+1)  np.quantile(x,.3)
    np.quantile(x,[.1,.5],axis=1)  np.percentile(x,30,axis=0,keepdims=True)  np.nanquantile(x,.5)  np.sort(x)
    np.sort(x,0)  np.sort(x,None)  x.argsort(0)  np.cumsum(x)  x.cumsum(1)  np.cumprod(x,0)  np.nancumsum(x)
    np.cumulative_sum(x,axis=1,include_initial=True)  np.partition(x,2)  np.partition(x,1,axis=0)  np.repeat(x,2)
    np.repeat(x,[1,2,0,1],axis=1)  np.roll(x,2)  np.roll(x,1,axis=1)  np.roll(x,(1,2),(0,1))  np.diff(x)
    np.diff(x,axis=0)  np.diff(x,2)  np.diff(x,prepend=0)  np.ediff1d(x)  np.gradient(x)  np.gradient(x,axis=1)
    np.trapezoid(x)  np.trapezoid(x,dx=2,axis=0)  np.unwrap(x)  np.fft.fft(x)  np.fft.fft(x,axis=0)  np.fft.fft(x,6)
    np.fft.ifft(x)  np.fft.rfft(x.real)  np.fft.irfft(x)  np.fft.fft2(x)  np.fft.fftshift(x)  x.reshape(4,3)
    np.reshape(x,(2,6),order="F")  x.reshape(-1)  np.reshape(x.T,-1,order="A")  x.ravel()  x.ravel("F")
    x.T.ravel("K")  x.T.ravel("A")  (x.T*2).ravel("K")  x.flatten()  x.flatten("F")  x.T  np.transpose(x,(1,0))
    x.swapaxes(0,1)  np.moveaxis(x,0,1)  np.rollaxis(x,1)  x.mT  np.expand_dims(x,1)  x[None,...,None]
    np.squeeze(x[None])  np.squeeze(x[:,None],1)  np.flip(x)  np.flip(x,1)  np.fliplr(x)  np.flipud(x)  np.rot90(x)
    np.rot90(x,2)  np.broadcast_to(x,(2,3,4))  np.broadcast_arrays(x,s)  np.atleast_1d(x)  np.atleast_3d(x)
    np.diagonal(x)  x.diagonal(1)  np.trace(x)  np.diag(x)  np.diag(x[0])  np.diagflat(x[0],1)  np.tril(x)
    np.triu(x,1)  np.tril(x[0])  np.tile(x,2)  np.tile(x,(2,1,2))  np.pad(x,1)  np.pad(x,1,constant_values=5)
    np.pad(x,((0,1),(2,0)),constant_values=((1,2),(3,4)))  np.pad(x,1,"edge")  np.pad(x,((0,0),(1,2)),"reflect")
    np.pad(x,2,"wrap")  np.pad(x,1,"mean")  np.pad(x,1,"maximum")  np.pad(x,2,"linear_ramp")  np.resize(x,(5,5))
    np.delete(x,1)  np.delete(x,[0,2],axis=1)  np.insert(x,1,y[:,0],axis=1)  np.insert(x,1,9,axis=0)  np.append(x,y)
    np.append(x,s,axis=0)  np.split(x,2,axis=1)  np.array_split(x,3,axis=1)  np.hsplit(x,2)  np.vsplit(x,3)
    np.concatenate([x,y])  np.concatenate([x,s],axis=1)  np.concatenate([x,y],axis=None)
    np.concatenate([x,y],dtype="c16")  np.stack([x,y])  np.stack([x,s],axis=-1)  np.vstack([x,y])  np.hstack([x,y])
    np.dstack([x,s])  np.column_stack([x[0],y[0]])  np.block([[x,y],[s,x]])  np.compress([True,False,True],x,axis=0)
    np.unstack(x)  np.take(x,[0,2])  np.take(x,[0,2],axis=1)  np.take(x,[5,-7],mode="wrap")  np.take(x,i)
    np.take(x,i,axis=1)  np.take(s,i,axis=0)  np.take_along_axis(x,np.argsort(x,1),1)
    np.take_along_axis(x,np.argmax(x,0)[None],0)  np.choose(i,[x[0,:2],x[1,:2],x[2,:2]])
    np.select([x>1,x<0],[x,-x],7)  np.extract(s>0,x)  np.piecewise(x,[x>0],[lambda v:v*2,0])  np.zeros_like(x)
    np.zeros_like(x,dtype="i4",shape=(2,2))  np.ones_like(x)  np.full_like(x,3)  np.full_like(x,y[0])
    np.full(3,x[0,0])  np.linspace(x[0],x[1],5)  np.linspace(x[0,0],1,4,retstep=True)  np.logspace(x[0]/9,1,3)
    np.meshgrid(x[0],y[1])  np.outer(x[0],s[1])  np.vander(x[0],3)  np.tril(np.ones((2,2)))*x[0,0]  np.dot(x,y.T)
    np.dot(x[0],y[0])  np.dot(s,x[0])  np.dot(x,s.T)  np.dot([1,2,3.],x)  np.inner(x,y)  np.inner(s,x)  np.vdot(x,y)
    np.vdot(x*1j,y)  np.outer(x,y[0])  np.tensordot(x,y)  np.tensordot(x,s,([0],[0]))  np.einsum("ij,kj->ik",x,y)
    np.einsum("ij->ji",x)  np.einsum("ij,ij",x,s)  np.einsum("...i,i",x,s[0])  np.kron(x,y[:2,:2])
    np.cross(x[0,:3],y[0,:3])  np.matvec(x,y[0])  np.vecmat(x[0,:3],y)  np.vecdot(x,y)  np.vecdot(x,s)
    np.matmul(np.stack([x,x]),s.T)  x[0]@s.T  np.convolve(x[0],y[0])  np.convolve(x[0],[1,2.],"same")
    np.correlate(x[0],s[0],"full")  np.interp(x,[0,1,2.],[5,6,9.])  np.digitize(x,[-1,0,1.])
    np.searchsorted([-1,0,1.],x)  np.isin(x,[0,1])  np.polyval([1,2,3.],x)  np.polyval(x[0],2.)  np.cov(x)
    np.corrcoef(x)  np.histogram(x,3,(-3,3))  np.bincount(i,minlength=5)  np.bincount(i,y[0,:2],5)
    np.lexsort((x[0],y[0]))  np.unique(i)  np.nonzero(x)  np.argwhere(x>0)  np.packbits(x>0)
    np.searchsorted(np.sort(x[0]),s[0])  np.linalg.det(m)  np.linalg.inv(m)  np.linalg.cholesky(m@m.T+np.eye(3))
    np.linalg.eigvalsh(m+m.T)  np.linalg.eigvals(m+m.T+0j)  np.linalg.svd(x)[1]  np.linalg.svdvals(x)
    np.linalg.qr(x)[1]  np.linalg.qr(x,"r")  np.linalg.pinv(x)  np.linalg.slogdet(m)  np.linalg.matrix_power(m,3)
    np.linalg.matrix_rank(x)  np.linalg.cond(m)  np.linalg.solve(m,x)  np.linalg.solve(m,x[:,0])
    np.linalg.solve(s[:,:3]+9*np.eye(3),x)  np.linalg.solve(m,s[:,0])  np.linalg.lstsq(x,y[:,0])[0]
    np.linalg.norm(x)  np.linalg.norm(x,1)  np.linalg.norm(x,axis=1)  np.linalg.norm(x,"fro",(0,1))
    np.linalg.vector_norm(x,axis=0)  np.linalg.matrix_norm(x)  np.linalg.multi_dot([x,y.T,x])  np.linalg.trace(m)
    np.linalg.cross(x[:,:3],y[:,:3])  np.linalg.outer(x[0],y[0])  np.linalg.tensorsolve(m,x[:,0])  x[0]  x[1,2]
    x[...,1]  x[::-1,1:]  x[[0,2]]  x[:,[1,1]]  x[[0,1],[2,3]]  x[None,:,[0]]  x[1,...]  x[np.array([[0,1],[1,2]])]
    x[s>0]  x[i]  x[:,i]  x[i,i]  s[i]  s[:,i]  x[i,1:]  x[i,None]  x[i[0]]  x[i[0],i]  x[0,i[0]]  s[i,[0,1]]
    x[x>0]  x[np.argmax(x[:,0])]  x[-1][-1]  np.stack([x,y])[:,[0,1],:,None][...,i]  np.stack([x,y])[[0,1],:,i]
    s[1:,i]  x[()]  x[:,None][[0]]  x[np.newaxis,1,[0,1]]  x[True]  x[i-3]  x[i-4]  x[5]  x[:,[9]]  x[0,0,0]  x[1.5]
    x[np.arange(3),np.argmax(x,1)]  np.size(x,i[0]%2)  np.size(axis=i[0]%2,a=x)  np.tensordot(x,2,i[0]%2)  x*len(x)
    np.array([v.sum() for v in x])  np.stack([v.sum() for v in x])  sum(x)  np.zeros(x.shape)+x  x/x.size
    x.astype("f4")  x.astype(int)  np.asarray(x)*2  np.array(x)*2
    np.array([x[0,0],2.])  x*float(x[0,0])  x if x.sum()>0 else -x  x*len(str(x))  x[0,0].item()*x
    np.array(x.tolist())  x*isinstance(x,np.ndarray)  x*isinstance(x.sum(),np.floating)
    x*((x[0,0]>0) is np.True_)  x*((x[0,0]<=0) is np.True_)  x*((x[0,0]>0) is TRUE)  x*((x[0,0]<=0) is not TRUE)
    (lambda t:(lambda:x*((x[0,0]>0) is t))())(np.False_)  (lambda t:(lambda:x*((x[0,0]>0) is t))())(np.True_)
    x*(id(x[0,0]<=0)==id(np.True_))  x*(not all(map(__import__("operator").is_not,[x[0,0]<=0],[np.True_])))
    x*isinstance(x[0,0],np.ndarray)  x*isinstance(np.zeros_like(x[0,0]),np.ndarray)
    x*isinstance(np.where(x[0,0]>0,x[0,0],1.),np.ndarray)  x*x.flags.c_contiguous  x*len(x.strides)
    x[0]*(x[1:].base is None)  x*len(f"{x[0,0]:.1f}")  x*len({x[0,0]:1})  x.copy()*2  x*((x[0,0]<=0) is OBJ.t[0])
    __import__("copy").deepcopy(x)+1  np.apply_along_axis(lambda v:v.sum()*v,1,x)  np.vectorize(lambda v:v*2)(x)
    np.sum(x,0,where=x>0)  np.sum(x,1,where=s>0)  np.sum(s,0,where=x>0)  np.sum(s,0,where=s>0)+x
    np.sum(x[0,0],where=x[0,1]>0)  np.sum(x[0,0],where=np.array(True))  np.max(x[0,0],axis=0)
    np.sum(x,0,None,None,False,2.)  np.multiply.reduce(x,1)  np.logaddexp.accumulate(x)
    np.add.reduceat(x,np.argsort(x[0])[:2],1)  np.multiply.outer(x[0],s[0])  np.hypot.outer(x[0],s[0])
    np.linalg.norm(s)*x  np.linalg.norm(x,keepdims=True)  np.median(x[0,0])  np.percentile(x,[20,50],axis=0)
    np.unwrap(x,period=2.,axis=0)  np.diff(x,prepend=x[:,:1],axis=1)  np.transpose(s)+x.T  np.squeeze(s[None])+x
    np.diag(x[0],1)  np.diag(x[0],-2)  np.diag(s)+x[0,:3]  np.tile(s,2)+x[0,0]  np.pad(s,1)+x[0,0]
    np.pad(s,1,constant_values=x[0,0])  np.repeat(s,2,axis=0)*x[0,0]  np.roll(s,1,axis=0)+x
    np.concatenate([s,s])*x[0,0]  np.stack([s,s])+x  s@s.T+m  np.tile(x,(20,20))@np.tile(s.T,(20,20))  np.dot(x,x[0,0])
    np.inner(x,x[0,0])  np.tensordot(s,s.T,1)+m  np.einsum(x,[0,1],s,[2,1],[0,2])  np.einsum("ij,kj",x,s)
    np.linalg.solve(s[:,:3]+9*np.eye(3),x[:,0])  np.linalg.solve(m,s)  np.isclose(x,s,atol=.5)  np.allclose(s,s+1e-12)*x
    np.convolve(s[0,:2],x[0],"full")  np.correlate(s[0,:2],x[0],"full")  np.convolve(s[0,:2],x[0],1)
    np.correlate(x[0],s[0,:2],0)  np.cross(x[:,:3],s[:,:3])  np.take(x,[5,-1],axis=0,mode="wrap")
    np.take(x,np.argsort(x[0])+3,axis=0,mode="wrap")  np.take(s,np.argsort(x[0])+2,axis=0,mode="clip")
    np.take(x,np.argsort(x[0])+3,axis=0,mode=1)  np.take(s,np.argsort(x[0])-9,axis=0,mode=0)  np.where(x>0,x,s)
    x.conjugate()  (x+1j*s).conj()  x.compress([True,False,True,False],axis=1)  np.abs(x)**s  2.**x  (x*2.).view()
    x*s[0,0]+s[0,0][()]  [x*2]*2
    np.allclose(x,y)  np.array_equal(x,x)  x*np.may_share_memory(x,x[0])  x*((x[0,0]>0) is OBJ.t[0])
    np.lib.stride_tricks.sliding_window_view(x,2,1)  np.sum(x,5)  x+np.ones((2,2))  x.reshape(5,5)  x@x
    np.concatenate([x,x[:,:1]])  np.linalg.inv(m*0)  np.max(x[:0])  x+np.ones((5,3,4))  x[0]+np.ones((5,4))
"""


def parts(text):
    """Of a text in which two blanks, or lines, stand between them."""
    return [part for line in text.strip().splitlines() for part in line.strip().split("  ")]


# What z, a copy, is after the statement.
WRITTEN = {
    "x*1": """
        z += y  z += s  z += np.ones((5,3,4))  z[1] = [1,2,3,4]  v = z[1:]; v[0] = 7  v = z.T; v[0] = y[:,0]
        v = z.ravel(); v[0] = 7  v = z.T.ravel(); v[0] = 7  z.reshape(4,3)[1] = 5  z[::-1][0] = y[0]
        np.flip(z,1)[0] = y[0]  np.diagonal(z)[0] = 3  np.swapaxes(z,0,1)[0] += 3  np.split(z,2,axis=1)[0][:] = 3
        np.expand_dims(z,0)[0,1] = 4  z[[0,1]][0] = 4  np.rot90(z)[0] = 4  z.real[0] = 4  np.moveaxis(z,0,1)[0] = 4
        z[z>0] = 0  z[z>0] = y[0,0]  z[z[:,0]>0] = 3  z[s>0] = 5  z[z>0] = z[z>0]*2  z[z>0] *= 2  z[[0,2]] = y[:2]
        z[i] = y[:2]  z[i] += 1  z[:,i] = y[:,:2]  np.add.at(z,[0,0],1.)  np.add.at(z,i,y[:2])  np.put(z,[0,5],7)
        np.put(z,i,y[0,:2])  np.putmask(z,z>0,y)  np.place(z,z>0,[1,2])  np.copyto(z,s,where=z>0)
        np.put_along_axis(z,np.argmax(z,1)[:,None],0,1)
        np.put_along_axis(z,np.argmax(z,None,keepdims=True).ravel(),0,None)  z.fill(x[0,0])  z.sort()  z.T.sort()
        z.partition(1)  z.flat[3] = 9  z.shape = (4,3)
    """,
    "s*1": "z[i] = 0  z[0] = x[0]  z += x  np.add.at(z,i,1.)",
}

BODIES = [
    *[f"z = {copy}; {part}; return z" for copy, text in WRITTEN.items() for part in parts(text)],
    "z = x.copy(); z[0] = y[1]; return z", "z = x.copy(); z[0] = s[1]; return z",
    "z = x[0]*1; z += np.ones((5,4)); return z", "z = x[0]*1; z[:] = np.ones((5,4)); return z",
    "z = x[0]*1; z[:] = np.ones((1,4)); return z", "z = x*1; v = np.broadcast_to(z,(2,3,4)); z += 1; return v*1",
    "z = x[0]*1; np.atleast_2d(z)[0,1] = 4; return z", "z = x[None]*1; np.squeeze(z)[1] = 4; return z",
    "a = x.sum(); b = a; a += 1; return b", "z = x*1; a = z[0,0]; z[0,0] = 9; return a",
    "z = x*1; a = z[0,0,...]; z[0,0] = 9; return a*1", "a = np.zeros_like(x[0,0]); b = a; a += 2; return b*1",
    "a = np.zeros_like(x[0,0]); a[...] = x[1,1]; return a", "a = x[0,0].copy(); b = a; a += 1; return b",
    "z = np.stack([x,y]); z[[0,1],:,i] = 3; return z", "z = np.zeros((3,4)); z[:] = x; return z",
    "z = np.zeros(3); \n  for k in range(3): z[k] = x[k].sum()\n  return z",
    "z = np.empty_like(s); np.copyto(z, x); return z", "z = np.empty_like(x); np.add(x,y,out=z); return z",
    "z = np.empty_like(s); np.add(x,y,out=z); return z",
    "z = np.empty_like(x,dtype='i4'); np.add(x,.5,out=z); return z",
    "z = np.zeros_like(x,dtype=int); z += x; return z", "z = np.ones_like(x,dtype=int); z /= 2; return z",
    "z = m*1; np.fill_diagonal(z,x[0,0]); return z", "x[0] = 1; return x", "x += 1; return x",
    "s[0] = 1; return s + x", "BUF[:] = BUF+1; return (x*BUF[0]).sum()", "BUF[0] = x[0,0]; return x*BUF[0]",
    "BUF[:] += 1; return x.sum()+BUF[0]", "LST.append(1); return x*len(LST)",
    "DCT['k'] = DCT.get('k',0)+1; return x*DCT['k']", "return x+RNG.normal()", "return x+np.random.normal()",
    "import random; return x+random.random()", "OBJ.n += 1; return x*OBJ.n", "global CNT; CNT += 1; return x*CNT",
    "return x*next(ITR)", "\n  try: return np.linalg.cholesky(m)\n  except np.linalg.LinAlgError: return m*5",
    "\n  try: return x/(x[0,0]>0 and 1 or 0)\n  except: return x*0",
    "\n  with np.errstate(divide='raise'):\n   try: return 1/(x-x[0,0])\n   except FloatingPointError: return x*3",
    "\n  try: return x[i*2]\n  except IndexError: return x[:2]*9",
    "\n  try: return np.linalg.inv(m*(x[0,0]>0))\n  except np.linalg.LinAlgError: return m*2",
    "import warnings\n  with warnings.catch_warnings(record=True) as w:\n"
    "   warnings.simplefilter('always'); z = np.log(x)\n  return x*len(w)",
    "\n  with np.errstate(all='ignore'): return np.log(x)", "raise KeyError(3)",
    "\n  if x[0,0] > 0: raise KeyError(3)\n  return x", "assert x.shape == (3,4); return x",
    "z = np.asfortranarray(x)*2 if False else np.transpose(np.transpose(x)*2); return z.ravel('K')",
    "return x.T.copy('K').ravel('K')", "return np.zeros_like(x.T).ravel('K') + np.add(x.T,1).ravel('A')",
    "return x[:,[0,1]].ravel('K')", "return np.stack([x,y]).T.sum(0).ravel('K')", "z = x*2; return z, z[::2]",
    "return x, x[0]", "return s, 3.0",
]  # fmt: skip
