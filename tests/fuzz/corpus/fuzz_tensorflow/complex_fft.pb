
2
aPlaceholder*
shape
:*
dtype0
2
bPlaceholder*
shape
:*
dtype0
-
ComplexComplexab*
T0*

Tout0
#
FFTFFTComplex*
Tcomplex0
!
IFFTIFFTFFT*
Tcomplex0
$
yRealIFFT*

Tout0*
T0"ª